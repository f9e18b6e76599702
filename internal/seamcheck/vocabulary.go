package seamcheck

import (
	"go/types"
	"slices"
	"strings"
)

// forbiddenPackages may not be imported, and nothing of them may be used however it was reached. A path that ends in
// "/..." covers the package and everything below it. The first match counts.
var forbiddenPackages = []struct {
	path string
	rule Rule
}{
	{"sync/atomic", Atomic},
	{"sync/...", Locking},
	{"golang.org/x/sync/...", Locking},
	{"os/...", Files},
	{"io/ioutil", Files},
	{"path/filepath", Files},
	{"net/...", Sockets},
	{"crypto/tls", Sockets},
	{"syscall/...", SystemCall},
	{"golang.org/x/sys/...", SystemCall},
	{"context", Context},
	{"golang.org/x/net/context", Context},
	{"log/...", Logging},
	{"crypto/rand", Random},
	{"math/rand", Random},
	{"golang.org/x/exp/rand", Random},
	{"hash/maphash", RandomHash},
	{"unsafe", Unsafe},
	{"runtime/...", Runtime},
	{"weak", WeakPointer},
	{"unique", WeakPointer},
}

// limitedPackages may be imported for the objects named here; every other object of them breaks the rule. "T.*" stands
// for all methods of T.
var limitedPackages = map[string]struct {
	rule    Rule
	allowed []string
}{
	"time": {Clock, []string{
		"Duration", "Duration.*", "ParseDuration",
		"Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour",
	}},
	// The type only: constructing a stream is the host's, since its seed must come from the world's.
	"math/rand/v2": {Random, []string{"Rand", "Rand.*"}},
}

// forbiddenObjects are the few bad objects of packages that are otherwise fine.
var forbiddenObjects = map[string]struct {
	rule  Rule
	names []string
}{
	"fmt": {Logging, []string{"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"}},
	// Collect and Insert take a sequence, which in nearly all uses is that of another map.
	"maps": {MapOrder, []string{"All", "Keys", "Values", "Collect", "Insert", "DeleteFunc", "EqualFunc"}},
	"io":   {Channel, []string{"Pipe", "PipeReader", "PipeReader.*", "PipeWriter", "PipeWriter.*"}},
	"iter": {Coroutine, []string{"Pull", "Pull2"}},
	"reflect": {Reflection, []string{
		"Value.MapRange", "Value.MapKeys", "MapIter.*", "Value.Seq", "Value.Seq2",
		"Select", "MakeChan", "ChanOf", "Value.Send", "Value.Recv", "Value.TrySend", "Value.TryRecv",
		"Value.Pointer", "Value.UnsafePointer", "Value.UnsafeAddr",
	}},
}

// judgedStandard are the packages of the standard library known to be pure: same input, same output, no task, no
// clock, no file. limitedPackages and forbiddenObjects cut some of them down further.
var judgedStandard = []string{
	"bufio", "bytes", "cmp", "compress/bzip2", "compress/flate", "compress/gzip", "compress/zlib", "container/heap",
	"container/list", "container/ring", "crypto", "crypto/hmac", "crypto/md5", "crypto/sha1", "crypto/sha256",
	"crypto/sha512", "crypto/subtle", "embed", "encoding", "encoding/base64", "encoding/binary", "encoding/csv",
	"encoding/hex", "encoding/json", "encoding/xml", "errors", "fmt", "hash", "hash/adler32", "hash/crc32", "hash/crc64",
	"hash/fnv", "html", "io", "iter", "maps", "math", "math/big", "math/bits", "math/rand/v2", "path", "reflect",
	"regexp", "slices", "sort", "strconv", "strings", "text/tabwriter", "time", "unicode", "unicode/utf16",
	"unicode/utf8",
}

// judgedLibraries are third-party packages, with everything below them, that were read and found fit, and under which
// condition.
var judgedLibraries = []struct{ path, condition string }{
	{"github.com/google/btree", "without a free list shared between trees"},
	{"github.com/klauspost/compress", "zstd with concurrency 1: more starts goroutines"},
	{"github.com/pierrec/lz4/v4", "block functions, or writers with concurrency 1"},
	{"github.com/twmb/avro", "used by one task at a time"},
	{"github.com/parquet-go/parquet-go", "used by one task at a time"},
}

// importRule returns the rule that an import of path by the package importer breaks, if any.
func importRule(path, importer, module string) (Rule, bool) {
	if rule, bad := packageRule(path); bad {
		return rule, true
	}
	switch {
	case within(path, module): // which of ours may import which is the import rules' business
		return "", false
	case path == "testing": // for contract suites, which are packages of their own: hosttest
		return UnlistedPath, !strings.HasSuffix(importer, "test")
	case slices.Contains(judgedStandard, path):
		return "", false
	}
	for _, library := range judgedLibraries {
		if within(path, library.path) {
			return "", false
		}
	}
	return UnlistedPath, true
}

// packageRule returns the rule that forbids the whole package at path.
func packageRule(path string) (Rule, bool) {
	for _, f := range forbiddenPackages {
		tree, whole := strings.CutSuffix(f.path, "/...")
		if path == f.path || whole && within(path, tree) {
			return f.rule, true
		}
	}
	if slices.Contains(strings.Split(path, "/"), "uuid") {
		return Identifier, true
	}
	return "", false
}

// objectRule returns the rule that a use of obj breaks, if any.
func objectRule(obj types.Object) (Rule, bool) {
	path, name := obj.Pkg().Path(), objectName(obj)
	if rule, bad := packageRule(path); bad {
		return rule, true
	}
	if isField(obj) {
		return "", false
	}
	if limited, ok := limitedPackages[path]; ok {
		return limited.rule, !listed(limited.allowed, name)
	}
	if forbidden, ok := forbiddenObjects[path]; ok {
		return forbidden.rule, listed(forbidden.names, name)
	}
	return "", false
}

// listed reports whether names holds name, or "T.*" for a method of T.
func listed(names []string, name string) bool {
	if slices.Contains(names, name) {
		return true
	}
	receiver, _, isMethod := strings.Cut(name, ".")
	return isMethod && slices.Contains(names, receiver+".*")
}

// objectName is the name of obj within its package; a method's is "Type.Method".
func objectName(obj types.Object) string {
	function, ok := obj.(*types.Func)
	if !ok || function.Signature().Recv() == nil {
		return obj.Name()
	}
	receiver := function.Signature().Recv().Type()
	if pointer, ok := receiver.(*types.Pointer); ok {
		receiver = pointer.Elem()
	}
	if named, ok := types.Unalias(receiver).(*types.Named); ok {
		return named.Obj().Name() + "." + obj.Name()
	}
	return obj.Name()
}

func isField(obj types.Object) bool {
	variable, ok := obj.(*types.Var)
	return ok && variable.IsField()
}

// within reports whether path is tree or below it.
func within(path, tree string) bool {
	return path == tree || strings.HasPrefix(path, tree+"/")
}

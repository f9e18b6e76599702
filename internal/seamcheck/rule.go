package seamcheck

// Rule is the sentence that a finding closes with: what is forbidden, and what to use instead.
type Rule string

// The rules. Each is planted by the tests in every form it can take.
const (
	GoStatement  Rule = "no go statement in the engine: start the task with host.Group.Go"
	Channel      Rule = "no channel in the engine: use host.Queue, host.Future, host.Gate or host.Cond"
	Select       Rule = "no select in the engine: wait on one host.Cond, with WaitFor for a time limit"
	Locking      Rule = "no sync in the engine: use host.Host.NewMutex, host.Group.NewCond and host.Group.Wait"
	Atomic       Rule = "no sync/atomic in the engine: use host.Host.NewCounter"
	Clock        Rule = "time stops at Duration in the engine: use host.Host.Now and Elapsed, host.Group.Sleep, host.Cond.WaitFor"
	Files        Rule = "no operating system in the engine: use host.Host.Disk, host.Dir and host.File"
	Sockets      Rule = "no sockets in the engine: use host.Host.Net"
	SystemCall   Rule = "no system calls in the engine: ask host.Host; what is missing there belongs in oshost"
	Context      Rule = "no context in the engine: use *host.Scope"
	Logging      Rule = "no logger and no standard streams in the engine: use host.Host.Log"
	Random       Rule = "no random source in the engine: take a *rand.Rand from host.Host.Rand"
	RandomHash   Rule = "no hash seeded by the process in the engine: use hash/fnv, hash/crc32 or hash/crc64"
	Identifier   Rule = "no uuid package in the engine: make identifiers from host.Host.Rand"
	Unsafe       Rule = "no unsafe in the engine: use encoding/binary; what needs addresses belongs in oshost"
	Runtime      Rule = "no runtime in the engine: goroutines, finalizers and memory figures differ from run to run; use host.Group and host.Memory"
	WeakPointer  Rule = "no weak pointers in the engine: they follow the collector; free by hand, with host.Memory"
	Coroutine    Rule = "no iter.Pull in the engine: start a task with host.Group.Go, or range over the sequence"
	MapOrder     Rule = "map order must not be seen in the engine: walk host.SortedKeys, or keep an ordered structure"
	Reflection   Rule = "no reflection on maps, channels and addresses in the engine: use typed code and host.SortedKeys"
	Address      Rule = "addresses differ from run to run: print a name or an id instead of %p"
	SharedState  Rule = "no package-level state in the engine: two nodes share one process in the simulator; keep it in a struct that boot makes"
	HiddenFile   Rule = "no assembly, cgo or build constraint in the engine: this check cannot read it; move it to oshost or to a driver"
	UnlistedPath Rule = "unknown to the seam: read the package for goroutines, clocks and randomness, then list it in internal/seamcheck/vocabulary.go with the reason"
)

// Rules returns all rules, so that a test can prove that each of them fires.
func Rules() []Rule {
	return []Rule{
		GoStatement, Channel, Select, Locking, Atomic, Clock, Files, Sockets, SystemCall, Context, Logging, Random,
		RandomHash, Identifier, Unsafe, Runtime, WeakPointer, Coroutine, MapOrder, Reflection, Address, SharedState,
		HiddenFile, UnlistedPath,
	}
}

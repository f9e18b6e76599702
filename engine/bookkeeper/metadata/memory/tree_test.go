package memory_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/memory"
	"lakebed/engine/host"
)

// plain is the tree as one would write it down first: a map, copied at every change.
type plain struct {
	keys     map[string]memory.Node
	sessions map[metadata.SessionID]bool
}

func (p plain) clone() plain { return plain{maps.Clone(p.keys), maps.Clone(p.sessions)} }

func (p plain) children(key string) []string {
	var names []string
	for _, k := range host.SortedKeys(p.keys) {
		if metadata.Parent(k) == key {
			names = append(names, metadata.Name(k))
		}
	}
	slices.Sort(names)
	return names
}

// apply is the rules in the order in which they are written down.
func (p plain) apply(c memory.Command) (plain, metadata.Version, error) {
	after := p.clone()
	if c.Op == memory.OpenSession {
		if p.sessions[c.Session] {
			return p, 0, metadata.ErrInvalid
		}
		after.sessions[c.Session] = true
		return after, 0, nil
	}
	if c.Session != 0 && !p.sessions[c.Session] {
		return p, 0, metadata.ErrSessionExpired
	}
	if c.Op == memory.EndSession {
		if c.Session == 0 {
			return p, 0, metadata.ErrInvalid
		}
		delete(after.sessions, c.Session)
		maps.DeleteFunc(after.keys, func(_ string, n memory.Node) bool { return n.Owner == c.Session })
		return after, 0, nil
	}
	node, there := p.keys[c.Key]
	switch {
	case c.Key == "/":
		return p, 0, metadata.ErrInvalid
	case c.Op == memory.Create && there:
		return p, 0, metadata.ErrExist
	case c.Op == memory.Create:
		return p.create(c)
	case !there:
		return p, 0, metadata.ErrNotExist
	case c.Expected != metadata.AnyVersion && c.Expected != node.Version:
		return p, 0, metadata.ErrVersion
	case c.Op == memory.Put:
		after.keys[c.Key] = memory.Node{Data: c.Data, Version: node.Version + 1, Owner: node.Owner}
		return after, node.Version + 1, nil
	case len(p.children(c.Key)) > 0:
		return p, 0, metadata.ErrNotEmpty
	}
	delete(after.keys, c.Key)
	return after, 0, nil
}

func (p plain) create(c memory.Command) (plain, metadata.Version, error) {
	after := p.clone()
	node := memory.Node{Data: c.Data}
	if c.Kind == metadata.Ephemeral {
		if node.Owner = c.Session; c.Session == 0 {
			return p, 0, metadata.ErrInvalid
		}
	}
	for k := metadata.Parent(c.Key); k != "/"; k = metadata.Parent(k) {
		n, there := p.keys[k]
		if there && n.Owner != 0 {
			return p, 0, metadata.ErrInvalid
		}
		if !there {
			after.keys[k] = memory.Node{}
		}
	}
	after.keys[c.Key] = node
	return after, 0, nil
}

func drawKey(t *rapid.T) string {
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "a-1"}), 0, 3).Draw(t, "key")
	return "/" + strings.Join(names, "/")
}

func drawCommand(t *rapid.T) memory.Command {
	return memory.Command{
		Op:       rapid.SampledFrom([]memory.Op{1, 2, 3, 3, 3, 4, 4, 5, 5}).Draw(t, "op"),
		Session:  metadata.SessionID(rapid.IntRange(0, 3).Draw(t, "session")),
		Key:      drawKey(t),
		Data:     rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "data"),
		Kind:     metadata.Kind(rapid.IntRange(0, 1).Draw(t, "kind")),
		Expected: metadata.Version(rapid.IntRange(-1, 3).Draw(t, "expected")),
		Timeout:  time.Second,
	}
}

// TestTreeDoesWhatThePlainOneDoes, command by command: the same outcome, and the same keys in every state that can still
// be read.
func TestTreeDoesWhatThePlainOneDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := memory.DefaultLimits()
		limits.HistoryChanges = rapid.IntRange(0, 12).Draw(t, "history")
		limits.HistoryBytesMax = 1 << 10
		tree := memory.New(limits)
		states := []plain{{map[string]memory.Node{}, map[metadata.SessionID]bool{}}}
		for range rapid.IntRange(1, 40).Draw(t, "commands") {
			c := drawCommand(t)
			if c.Op == memory.OpenSession && c.Session == 0 {
				continue
			}
			now := states[len(states)-1]
			after, version, want := now.apply(c)
			got := tree.Apply(c)
			if !errors.Is(got.Err, want) || (got.Err == nil) != (want == nil) || got.Version != version {
				t.Fatalf("%+v: got %+v, want version %d and %v", c, got, version, want)
			}
			if want == nil {
				states = append(states, after)
			}
			same(t, tree, states)
		}
	})
}

func same(t *rapid.T, tree *memory.Tree, states []plain) {
	newest := memory.Index(len(states) - 1)
	if tree.Index() != newest || tree.Oldest() > newest {
		t.Fatalf("index %d, oldest %d after %d changes", tree.Index(), tree.Oldest(), newest)
	}
	last := states[newest]
	if want := host.SortedKeys(last.keys); !slices.Equal(tree.Keys(), want) {
		t.Fatalf("keys %q, want %q", tree.Keys(), want)
	}
	if want := host.SortedKeys(last.sessions); !slices.Equal(tree.Sessions(), want) {
		t.Fatalf("sessions %v, want %v", tree.Sessions(), want)
	}
	for at := tree.Oldest(); at <= newest; at++ {
		for _, key := range []string{"/", "/a", "/a/a", "/a/b", "/a/b/a", "/b", "/a-1"} {
			got := tree.GetAt(key, at)
			want, there := states[at].keys[key]
			if key != "/" && (there != (got != nil) || there && !equal(*got, want)) {
				t.Fatalf("%s at %d: got %+v, want %+v", key, at, got, want)
			}
			if names := tree.ListAt(key, at); !slices.Equal(names, states[at].children(key)) {
				t.Fatalf("children of %s at %d: got %q, want %q", key, at, names, states[at].children(key))
			}
		}
	}
}

func equal(a, b memory.Node) bool {
	return string(a.Data) == string(b.Data) && a.Version == b.Version && a.Owner == b.Owner
}

// TestWatchersAreToldOfWhatTheyCouldSee: whoever watches a key whose value, existence or children differ afterwards is
// told, once, and nobody else is.
func TestWatchersAreToldOfWhatTheyCouldSee(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := memory.DefaultLimits()
		limits.HistoryChanges, limits.HistoryBytesMax = 100, 1<<20
		tree := memory.New(limits)
		watched := map[memory.Notice]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			n := memory.Notice{Watcher: memory.Watcher(rapid.IntRange(1, 2).Draw(t, "watcher")), Key: drawKey(t)}
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1:
				if err := tree.Watch(n.Watcher, n.Key); err != nil {
					t.Fatal(err)
				}
				watched[n] = true
			case 2:
				tree.Unwatch(n.Watcher, n.Key)
				delete(watched, n)
			case 3:
				if n.Watcher == 1 {
					tree.Forget(1)
					maps.DeleteFunc(watched, func(each memory.Notice, _ bool) bool { return each.Watcher == 1 })
				}
			default:
				before := tree.Index()
				r := tree.Apply(drawCommand(t))
				var want []memory.Notice
				for each := range watched {
					if r.Err == nil && differs(tree, each.Key, before) {
						want = append(want, each)
					}
				}
				slices.SortFunc(want, byKey)
				if got := tree.Notices(r.Changes, nil); !slices.Equal(got, want) {
					t.Fatalf("told %v, want %v", got, want)
				}
			}
		}
	})
}

func byKey(a, b memory.Notice) int {
	if c := strings.Compare(a.Key, b.Key); c != 0 {
		return c
	}
	return int(a.Watcher - b.Watcher)
}

// differs compares the states before and after the last command; a put of the same value counts as a change.
func differs(tree *memory.Tree, key string, before memory.Index) bool {
	return tree.Get(key) != tree.GetAt(key, before) || !slices.Equal(tree.List(key), tree.ListAt(key, before))
}

// TestSessionsAreOverdueAtTheirDeadline, not before, and a touch puts it off. One that was opened and never touched has
// no deadline: its opener must greet it first.
func TestSessionsAreOverdueAtTheirDeadline(t *testing.T) {
	tree := memory.New(memory.DefaultLimits())
	for id, timeout := range []time.Duration{5, 9, 7} {
		if r := tree.Apply(memory.Command{Op: memory.OpenSession, Session: metadata.SessionID(id + 1), Timeout: timeout}); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	tree.Touch(1, 0)
	tree.Touch(2, 0)
	tree.Touch(1, 3)
	for _, c := range []struct {
		now  time.Duration
		want string
	}{{7, "[] 8ns"}, {8, "[1] 9ns"}, {9, "[1 2] 2562047h47m16.854775807s"}} {
		overdue, next := tree.Overdue(c.now)
		if got := fmt.Sprint(overdue, " ", next); got != c.want {
			t.Errorf("at %d: got %s, want %s", c.now, got, c.want)
		}
	}
	if tree.Touch(4, 0) || tree.Alive(4) || tree.TimeoutOf(4) != 0 || tree.TimeoutOf(3) != 7 {
		t.Error("a session that was never opened")
	}
}

// TestEveryBoundHolds: what is at a bound is taken, what is beyond it is refused with its own error and changes nothing.
func TestEveryBoundHolds(t *testing.T) {
	limits := memory.Limits{KeysMax: 5, BytesMax: 60, NamesBytesMax: 3 * (1 + memory.NameOverhead), SessionsMax: 2, WatchesMax: 2,
		WatchesBytesMax: 3 * (2 + memory.WatchOverhead)}
	tree := memory.New(limits)
	create := func(key string, bytes int) memory.Command {
		return memory.Command{Op: memory.Create, Key: key, Data: make([]byte, bytes)}
	}
	open := func(id metadata.SessionID) memory.Command {
		return memory.Command{Op: memory.OpenSession, Session: id, Timeout: 1}
	}
	for i, c := range []struct {
		command memory.Command
		want    error
	}{
		{open(1), nil}, {open(2), nil}, {open(3), metadata.ErrLimit}, {open(1), metadata.ErrInvalid},
		{create("/a", 10), nil}, {create("/b", 10), nil}, {create("/c", 10), nil},
		{create("/d", 0), metadata.ErrLimit},     // names
		{create("/a/b/c", 0), metadata.ErrLimit}, // keys, with the root
		{create("/a/b", 23), metadata.ErrLimit},  // bytes: 36, 4 for the key, 23
		{create("/a/b", 20), nil},                // 60
		{create("/a/c", 0), metadata.ErrLimit},   // bytes of the key
		{memory.Command{Op: memory.Put, Key: "/a", Data: make([]byte, 11), Expected: -1}, metadata.ErrLimit},
		{memory.Command{Op: memory.Put, Key: "/a", Data: make([]byte, 10), Expected: -1}, nil},
		{memory.Command{Op: memory.Delete, Key: "/a/b", Expected: -1}, nil},
		{create("/a/b", 20), nil}, // what was deleted counts no more
		{create("/", 0), metadata.ErrInvalid}, {create("a", 0), metadata.ErrInvalid}, {memory.Command{Op: 9, Key: "/a"}, metadata.ErrInvalid},
		{create("/z", metadata.ValueBytesMax+1), metadata.ErrInvalid},
	} {
		before := tree.Index()
		r := tree.Apply(c.command)
		if !errors.Is(r.Err, c.want) || (r.Err == nil) != (c.want == nil) {
			t.Errorf("command %d: got %v, want %v", i, r.Err, c.want)
		}
		if moved := tree.Index() != before; moved != (r.Err == nil) {
			t.Errorf("command %d: the index went from %d to %d with %v", i, before, tree.Index(), r.Err)
		}
	}
	err := errors.Join(tree.Watch(1, "/a"), tree.Watch(1, "/b"), tree.Watch(1, "/a"))
	if err != nil || !errors.Is(tree.Watch(1, "/c"), metadata.ErrLimit) || tree.Watch(2, "/c") != nil {
		t.Error("bound of watches:", err)
	}
	// All watchers together have three, and what was given up counts no more.
	if err := tree.Watch(2, "/d"); !errors.Is(err, metadata.ErrLimit) {
		t.Error("a fourth watch:", err)
	}
	for range 10 {
		tree.Unwatch(1, "/a")
		tree.Unwatch(1, "/a")
		tree.Forget(1)
		if err := errors.Join(tree.Watch(2, "/d"), tree.Watch(1, "/a")); err != nil {
			t.Fatal("after others were given up:", err)
		}
		tree.Unwatch(2, "/d")
		if err := tree.Watch(1, "/b"); err != nil {
			t.Fatal("after another was given up:", err)
		}
	}
}

// TestHistoryIsBoundedInBytes: large values push old states out.
func TestHistoryIsBoundedInBytes(t *testing.T) {
	limits := memory.DefaultLimits()
	limits.HistoryChanges, limits.HistoryBytesMax = 1000, 250
	tree := memory.New(limits)
	tree.Apply(memory.Command{Op: memory.Create, Key: "/a", Data: make([]byte, 100)})
	for range 10 {
		tree.Apply(memory.Command{Op: memory.Put, Key: "/a", Data: make([]byte, 100), Expected: metadata.AnyVersion})
	}
	if kept := tree.Index() - tree.Oldest(); kept != 2 {
		t.Errorf("%d changes of 100 bytes are kept within 250 bytes", kept)
	}
}

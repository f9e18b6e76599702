package memory

import (
	"cmp"
	"fmt"
	"slices"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

// Watcher is whoever the caller has to tell: a connection, say.
type Watcher int64

// Notice is a watcher to be told about a key.
type Notice struct {
	Watcher Watcher
	Key     string
}

// watching knows who watches what.
type watching struct {
	limits    Limits
	bytes     int64                // of all keys, once for each watcher, with overhead
	byKey     map[string][]Watcher // sorted
	byWatcher map[Watcher]map[string]bool
}

func newWatching(limits Limits) watching {
	return watching{limits: limits, byKey: make(map[string][]Watcher), byWatcher: make(map[Watcher]map[string]bool)}
}

// Watch has a watcher told of every change of a key and of every coming and going of its children.
func (t *Tree) Watch(w Watcher, key string) error {
	if err := metadata.ValidateKey(key); err != nil {
		return err
	}
	keys := t.watching.byWatcher[w]
	switch {
	case keys[key]:
		return nil
	case len(keys) >= t.watching.limits.WatchesMax:
		return fmt.Errorf("watch %s: %d watches: %w", key, len(keys), metadata.ErrLimit)
	case t.watching.bytes+watchBytes(key) > t.watching.limits.WatchesBytesMax:
		return fmt.Errorf("watch %s: %d bytes of watches: %w", key, t.watching.bytes, metadata.ErrLimit)
	case keys == nil:
		keys = make(map[string]bool)
		t.watching.byWatcher[w] = keys
	}
	keys[key] = true
	t.watching.bytes += watchBytes(key)
	all := t.watching.byKey[key]
	i, _ := slices.BinarySearch(all, w)
	t.watching.byKey[key] = slices.Insert(all, i, w)
	return nil
}

func watchBytes(key string) int64 { return int64(len(key)) + WatchOverhead }

// Unwatch ends one watch.
func (t *Tree) Unwatch(w Watcher, key string) {
	if !t.watching.byWatcher[w][key] {
		return
	}
	delete(t.watching.byWatcher[w], key)
	t.watching.bytes -= watchBytes(key)
	if len(t.watching.byWatcher[w]) == 0 {
		delete(t.watching.byWatcher, w)
	}
	all := t.watching.byKey[key]
	i, _ := slices.BinarySearch(all, w)
	if len(all) == 1 {
		delete(t.watching.byKey, key)
		return
	}
	t.watching.byKey[key] = slices.Delete(all, i, i+1)
}

// Forget ends all watches of a watcher.
func (t *Tree) Forget(w Watcher) {
	for _, key := range host.SortedKeys(t.watching.byWatcher[w]) {
		t.Unwatch(w, key)
	}
}

// Watchers returns who watches anything, in order.
func (t *Tree) Watchers() []Watcher { return host.SortedKeys(t.watching.byWatcher) }

// Notices appends to into[:0] who is to be told of these changes, by key and then by watcher, nobody twice about one key.
func (t *Tree) Notices(changes []Change, into []Notice) []Notice {
	into = into[:0]
	for _, c := range changes {
		into = t.tell(into, c.Key)
		if c.Before == nil || c.After == nil {
			into = t.tell(into, metadata.Parent(c.Key))
		}
	}
	slices.SortFunc(into, func(a, b Notice) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Watcher, b.Watcher))
	})
	return slices.Compact(into)
}

func (t *Tree) tell(into []Notice, key string) []Notice {
	for _, w := range t.watching.byKey[key] {
		into = append(into, Notice{w, key})
	}
	return into
}

package memory

import (
	"fmt"
	"slices"
	"strings"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// Tree is the whole state. It is not safe for concurrent use.
type Tree struct {
	limits   Limits
	index    Index
	bytes    int64
	keys     map[string]*place
	sessions map[metadata.SessionID]*session
	watching watching
	history  history
	changes  []Change // of the command being applied
}

// place is where a key stands in the tree.
type place struct {
	node       *Node
	children   []string // names, sorted
	namesBytes int
}

// New makes a tree with the root alone.
func New(limits Limits) *Tree {
	return &Tree{
		limits:   limits,
		keys:     map[string]*place{"/": {node: &Node{}}},
		sessions: make(map[metadata.SessionID]*session),
		watching: newWatching(limits),
		history:  history{changesMax: limits.HistoryChanges, bytesMax: limits.HistoryBytesMax},
	}
}

// Index is the number of commands that succeeded.
func (t *Tree) Index() Index { return t.index }

// Apply does what a command asks for, or says in Result.Err why not.
func (t *Tree) Apply(c Command) Result {
	t.changes = t.changes[:0]
	version, err := t.apply(&c)
	if err != nil {
		invariant.Check(len(t.changes) == 0, "a command that fails changes nothing")
		return Result{Index: t.index, Err: fmt.Errorf("%s: %w", about(&c), err)}
	}
	t.index++
	slices.SortStableFunc(t.changes, func(a, b Change) int { return strings.Compare(a.Key, b.Key) })
	for i := range t.changes {
		t.changes[i].Index = t.index
		t.history.add(t.changes[i])
	}
	return Result{Index: t.index, Version: version, Changes: t.changes}
}

func about(c *Command) string {
	if c.Op == OpenSession || c.Op == EndSession {
		return fmt.Sprintf("%s %d", c.Op, c.Session)
	}
	return fmt.Sprintf("%s %s", c.Op, c.Key)
}

func (t *Tree) apply(c *Command) (metadata.Version, error) {
	if c.Op == OpenSession {
		return 0, t.openSession(c.Session, c.Timeout)
	}
	if c.Session != 0 && t.sessions[c.Session] == nil {
		return 0, metadata.ErrSessionExpired
	}
	if c.Op == EndSession {
		return 0, t.endSession(c.Session)
	}
	if err := metadata.ValidateKey(c.Key); err != nil {
		return 0, err
	}
	if err := metadata.ValidateValue(c.Data); err != nil {
		return 0, err
	}
	if c.Key == "/" {
		return 0, fmt.Errorf("the root cannot change: %w", metadata.ErrInvalid)
	}
	switch c.Op {
	case Create:
		return 0, t.create(c)
	case Put:
		return t.put(c)
	case Delete:
		return 0, t.delete(c)
	default:
		return 0, metadata.ErrInvalid
	}
}

func (t *Tree) create(c *Command) error {
	if t.keys[c.Key] != nil {
		return metadata.ErrExist
	}
	node := &Node{Data: c.Data}
	if c.Kind == metadata.Ephemeral {
		if c.Session == 0 {
			return fmt.Errorf("an ephemeral key needs a session: %w", metadata.ErrInvalid)
		}
		node.Owner = c.Session
	}
	missing := t.missing(c.Key)
	if err := t.roomFor(missing, int64(len(c.Data))); err != nil {
		return err
	}
	for i := len(missing) - 1; i > 0; i-- {
		t.install(missing[i], &Node{})
	}
	t.install(c.Key, node)
	return nil
}

// missing is the key and those of its parents that do not exist, upwards.
func (t *Tree) missing(key string) []string {
	var missing []string
	for ; t.keys[key] == nil; key = metadata.Parent(key) {
		missing = append(missing, key)
	}
	return missing
}

// roomFor says whether these keys, each the parent of the one before, may come into being. All bounds are looked at
// before the first of them is made.
func (t *Tree) roomFor(missing []string, bytes int64) error {
	top := missing[len(missing)-1]
	parent := t.keys[metadata.Parent(top)]
	for _, key := range missing {
		bytes += int64(len(key))
	}
	switch {
	case parent.node.Owner != 0:
		return fmt.Errorf("%s is ephemeral and has no children: %w", metadata.Parent(top), metadata.ErrInvalid)
	case len(t.keys)+len(missing) > t.limits.KeysMax:
		return fmt.Errorf("%d keys: %w", len(t.keys), metadata.ErrLimit)
	case t.bytes+bytes > t.limits.BytesMax:
		return fmt.Errorf("%d bytes: %w", t.bytes, metadata.ErrLimit)
	case parent.namesBytes+len(metadata.Name(top))+NameOverhead > t.limits.NamesBytesMax:
		return fmt.Errorf("%d children of %s: %w", len(parent.children), metadata.Parent(top), metadata.ErrLimit)
	}
	return nil
}

func (t *Tree) put(c *Command) (metadata.Version, error) {
	p := t.keys[c.Key]
	switch {
	case p == nil:
		return 0, metadata.ErrNotExist
	case c.Expected != metadata.AnyVersion && c.Expected != p.node.Version:
		return 0, fmt.Errorf("%w: %d, not %d", metadata.ErrVersion, p.node.Version, c.Expected)
	case t.bytes+int64(len(c.Data))-p.node.bytes() > t.limits.BytesMax:
		return 0, fmt.Errorf("%d bytes: %w", t.bytes, metadata.ErrLimit)
	}
	after := &Node{Data: c.Data, Version: p.node.Version + 1, Owner: p.node.Owner}
	t.install(c.Key, after)
	return after.Version, nil
}

func (t *Tree) delete(c *Command) error {
	p := t.keys[c.Key]
	switch {
	case p == nil:
		return metadata.ErrNotExist
	case c.Expected != metadata.AnyVersion && c.Expected != p.node.Version:
		return fmt.Errorf("%w: %d, not %d", metadata.ErrVersion, p.node.Version, c.Expected)
	case len(p.children) > 0:
		return metadata.ErrNotEmpty
	}
	t.install(c.Key, nil)
	return nil
}

// install is the one place where keys change. Nil deletes.
func (t *Tree) install(key string, after *Node) {
	p := t.keys[key]
	var before *Node
	if p != nil {
		before = p.node
	}
	t.bytes += after.bytes() - before.bytes()
	switch {
	case p == nil:
		t.keys[key] = &place{node: after}
		t.bytes += int64(len(key))
		t.adopt(key)
	case after == nil:
		delete(t.keys, key)
		t.bytes -= int64(len(key))
		t.orphan(key)
	default:
		p.node = after
	}
	if owner := ownerOf(before, after); owner != 0 && (before == nil || after == nil) {
		t.sessions[owner].own(key, after != nil)
	}
	t.changes = append(t.changes, Change{Key: key, Before: before, After: after})
}

func ownerOf(before, after *Node) metadata.SessionID {
	if after != nil {
		return after.Owner
	}
	return before.Owner
}

func (t *Tree) adopt(key string) {
	parent, name := t.keys[metadata.Parent(key)], metadata.Name(key)
	i, found := slices.BinarySearch(parent.children, name)
	invariant.Check(!found, "a new key is not yet among its parent's children")
	parent.children = slices.Insert(parent.children, i, name)
	parent.namesBytes += len(name) + NameOverhead
}

func (t *Tree) orphan(key string) {
	parent, name := t.keys[metadata.Parent(key)], metadata.Name(key)
	i, found := slices.BinarySearch(parent.children, name)
	invariant.Check(found, "a key is among its parent's children")
	parent.children = slices.Delete(parent.children, i, i+1)
	parent.namesBytes -= len(name) + NameOverhead
}

// Get returns the present state of a key, or nil.
func (t *Tree) Get(key string) *Node {
	if p := t.keys[key]; p != nil {
		return p.node
	}
	return nil
}

// List returns the names of the present children of a key, sorted. The caller may keep it.
func (t *Tree) List(key string) []string {
	if p := t.keys[key]; p != nil {
		return slices.Clone(p.children)
	}
	return nil
}

// Keys returns all keys but the root, sorted.
func (t *Tree) Keys() []string {
	sorted := host.SortedKeys(t.keys)
	return sorted[1:]
}

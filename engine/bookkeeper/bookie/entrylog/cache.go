package entrylog

import "lakebed/engine/host"

// cache keeps the most recently used byte strings within a bound. It copies on the way in and lends under its lock.
type cache[K comparable] struct {
	memory host.Memory
	mutex  host.Mutex
	limit  int64
	bytes  int64
	nodes  map[K]*node[K]
	root   node[K] // root.next is the most recently used
}

type node[K comparable] struct {
	key        K
	value      []byte
	prev, next *node[K]
}

func newCache[K comparable](h host.Host, name string, limit int64) *cache[K] {
	c := &cache[K]{memory: h.Memory(), mutex: h.NewMutex(name), limit: limit, nodes: make(map[K]*node[K])}
	c.root.prev, c.root.next = &c.root, &c.root
	return c
}

// view calls f with the value of key, under the lock, if there is one.
func (c *cache[K]) view(key K, f func(value []byte)) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	n := c.nodes[key]
	if n == nil {
		return false
	}
	c.unlink(n)
	c.pushFront(n)
	f(n.value)
	return true
}

// put stores a copy of value. What does not fit the bound at all is not stored.
func (c *cache[K]) put(key K, value []byte) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.remove(key)
	if int64(len(value)) > c.limit {
		return
	}
	for c.bytes+int64(len(value)) > c.limit {
		c.remove(c.root.prev.key)
	}
	n := &node[K]{key: key, value: c.memory.Get(len(value))}
	copy(n.value, value)
	c.nodes[key] = n
	c.bytes += int64(len(value))
	c.pushFront(n)
}

func (c *cache[K]) drop(key K) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.remove(key)
}

// clear gives all memory back.
func (c *cache[K]) clear() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for c.root.prev != &c.root {
		c.remove(c.root.prev.key)
	}
}

func (c *cache[K]) remove(key K) {
	n := c.nodes[key]
	if n == nil {
		return
	}
	delete(c.nodes, key)
	c.bytes -= int64(len(n.value))
	c.unlink(n)
	c.memory.Put(n.value)
}

func (c *cache[K]) unlink(n *node[K]) { n.prev.next, n.next.prev = n.next, n.prev }

func (c *cache[K]) pushFront(n *node[K]) {
	n.prev, n.next = &c.root, c.root.next
	n.prev.next, n.next.prev = n, n
}

package openfiles

import (
	"errors"
	"fmt"
	"slices"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// Points of the cache. A is the number of files in hand.
const (
	PointEvicted      host.Point = "openfiles.evicted"       // a file was closed to make room
	PointEvictedDirty host.Point = "openfiles.evicted-dirty" // after a sync, since it had unsynced bytes
	PointWaited       host.Point = "openfiles.waited"        // all were in use
)

// ErrNotSynced says that a file was written to, and the sync before it was closed to make room has failed.
var ErrNotSynced = errors.New("unsynced bytes may be lost")

// MaxDefault is how many files stay open unless told otherwise: below the limit of 4,096 that many systems set.
const MaxDefault = 4000

// Key names a file: two files have two keys, and one file has one.
type Key struct {
	Dir  string
	Name string
}

// Cache is a bounded set of open files.
type Cache struct {
	h        host.Host
	max      int
	mutex    host.Mutex
	changed  host.Cond // a file came back, was opened or was closed
	waiting  int       // tasks that wait for that
	files    map[Key]*Handle
	idle     Handle // head of the ring of those that nobody uses, the longest unused behind it
	inHand   int    // files open or being opened or closed, and slots
	failures []failure
}

// failure is that of a sync that nobody waited for.
type failure struct {
	key Key
	err error
}

// Handle is a file in use. Release gives it back.
type Handle struct {
	host.File
	cache   *Cache
	key     Key
	users   int
	opening bool
	doomed  bool // forgotten: closed when its last user gives it back
	gone    bool // closed, or about to be: Reopen does not give it out
	dirty   bool

	previous, next *Handle // in the ring of idle ones
}

// New makes an empty cache of at most limit files.
func New(h host.Host, g host.Group, limit int) *Cache {
	m := h.NewMutex("open-files")
	c := &Cache{h: h, max: max(limit, 1), mutex: m, changed: g.NewCond(m), files: map[Key]*Handle{}}
	c.idle.previous, c.idle.next = &c.idle, &c.idle
	return c
}

// await waits for a change, and announce tells of one: most come when nobody waits. The mutex is held.
func (c *Cache) await() bool {
	c.waiting++
	defer func() { c.waiting-- }()
	return c.changed.Wait()
}

func (c *Cache) announce() {
	if c.waiting > 0 {
		c.changed.Broadcast()
	}
}

// Open returns the file of this key, in use until Release. If it is not open, open is called, without any lock.
func (c *Cache) Open(key Key, open func() (host.File, error)) (*Handle, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for {
		if i := c.failureOf(key); i >= 0 {
			return nil, c.failures[i].err
		}
		if f := c.files[key]; f != nil {
			if !f.opening {
				c.use(f)
				return f, nil
			}
			if !c.await() {
				return nil, host.ErrStopping
			}
			continue
		}
		if room, err := c.makeRoom(1); err != nil {
			return nil, err
		} else if room {
			return c.open(key, open)
		}
	}
}

// failureOf is where the failure of this file is among all, or -1.
func (c *Cache) failureOf(key Key) int {
	return slices.IndexFunc(c.failures, func(f failure) bool { return f.key == key })
}

func (c *Cache) use(f *Handle) {
	if f.users == 0 {
		f.leaveIdle()
	}
	f.users++
}

// leaveIdle takes a file out of the ring of idle ones.
func (f *Handle) leaveIdle() {
	f.previous.next, f.next.previous = f.next, f.previous
	f.previous, f.next = nil, nil
}

// Reopen is Open for who has used this very handle before and given it back: it looks for nothing. Not ok: the file was closed or
// forgotten meanwhile, and Open tells more.
func (f *Handle) Reopen() (ok bool) {
	c := f.cache
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if f.gone || f.doomed {
		return false
	}
	c.use(f)
	return true
}

// open opens a file in the place that is free for it. The mutex is held, and is let go meanwhile.
func (c *Cache) open(key Key, open func() (host.File, error)) (*Handle, error) {
	f := &Handle{cache: c, key: key, users: 1, opening: true}
	c.files[key] = f
	c.inHand++
	c.mutex.Unlock()
	inner, err := open()
	c.mutex.Lock()
	f.File, f.opening = inner, false
	c.announce()
	if err != nil {
		if c.files[key] == f {
			delete(c.files, key)
		}
		c.inHand--
		return nil, err
	}
	return f, nil
}

// makeRoom says whether so many more files fit now. If not, it has closed one or waited, and everything may have changed.
func (c *Cache) makeRoom(count int) (bool, error) {
	if c.inHand+count <= c.max {
		return true, nil
	}
	if oldest := c.idle.next; oldest != &c.idle {
		c.evict(oldest)
		return false, nil
	}
	c.h.Probe().Mark(host.Event{Name: PointWaited, A: int64(c.inHand)})
	if !c.await() {
		return false, host.ErrStopping
	}
	return false, nil
}

// evict closes a file that nobody uses. While it is synced it counts as being opened, so that nobody opens it beside.
func (c *Cache) evict(f *Handle) {
	f.leaveIdle()
	f.opening, f.gone = true, true
	c.mutex.Unlock()
	point := PointEvicted
	var err error
	if f.dirty {
		point = PointEvictedDirty
		err = f.Sync()
	}
	_ = f.Close() // what could still fail was synced
	c.h.Probe().Mark(host.Event{Name: point, A: int64(c.max)})
	c.mutex.Lock()
	c.inHand--
	if c.files[f.key] == f {
		delete(c.files, f.key)
		if err != nil {
			c.failures = append(c.failures, failure{f.key, fmt.Errorf("sync %s/%s before it was closed: %w: %w", f.key.Dir, f.key.Name, ErrNotSynced, err)})
		}
	}
	c.announce()
}

// SetDirty says whether the file holds bytes that no sync has reached.
func (f *Handle) SetDirty(dirty bool) {
	f.cache.mutex.Lock()
	f.dirty = dirty
	f.cache.mutex.Unlock()
}

// Release gives the file back.
func (f *Handle) Release() { f.ReleaseAs(false) }

// ReleaseAs is Release that also says, if dirty, that the file holds bytes which no sync has reached.
func (f *Handle) ReleaseAs(dirty bool) {
	c := f.cache
	c.mutex.Lock()
	defer c.mutex.Unlock()
	f.dirty = f.dirty || dirty
	invariant.Check(f.users > 0, "a file is released once for each use")
	f.users--
	if f.users > 0 {
		return
	}
	if f.doomed {
		c.closeDoomed(f)
		return
	}
	last := c.idle.previous
	f.previous, f.next = last, &c.idle
	last.next, c.idle.previous = f, f
	c.announce() // some wait for room, others for files that are being opened
}

func (c *Cache) closeDoomed(f *Handle) {
	f.gone = true
	c.mutex.Unlock()
	_ = f.Close() // its content counts no more
	c.mutex.Lock()
	c.inHand--
	c.announce()
}

// Forget drops a file that was renamed, removed or replaced, with what is known of its failures. Who uses it may go on.
func (c *Cache) Forget(key Key) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if i := c.failureOf(key); i >= 0 {
		c.failures = slices.Delete(c.failures, i, i+1)
	}
	f := c.files[key]
	if f == nil {
		return
	}
	delete(c.files, key)
	if f.users > 0 {
		f.doomed = true
	} else if !f.opening { // else it is being evicted
		f.leaveIdle()
		c.closeDoomed(f)
	}
}

// Reserve takes places for so many files that do not come from this cache, all at once. Give must follow.
func (c *Cache) Reserve(count int) error {
	invariant.Check(count <= c.max, "more files are never opened at once than may be")
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for {
		room, err := c.makeRoom(count)
		if err != nil {
			return err
		}
		if room {
			c.inHand += count
			return nil
		}
	}
}

// Give gives so many places of Reserve back.
func (c *Cache) Give(count int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.inHand -= count
	invariant.Check(c.inHand >= 0, "a place is given back once")
	c.announce()
}

// InHand is the number of files and reserved places.
func (c *Cache) InHand() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.inHand
}

// Close closes all files. None may be in use, and none may be opened afterwards. It returns the first failure that
// nobody was told of, of a file that was dirty.
func (c *Cache) Close() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for c.idle.next != &c.idle {
		c.evict(c.idle.next)
	}
	invariant.Check(c.inHand == 0, "no file is in use when the cache is closed")
	if len(c.failures) > 0 {
		return c.failures[0].err
	}
	return nil
}

package host

import (
	"math/rand/v2"
	"time"
)

// Wall is a wall-clock time in nanoseconds since the Unix epoch. It may jump either way; use Elapsed for deadlines.
type Wall int64

// Host is what a node is given at birth. All methods may be called from any task of the node.
type Host interface {
	// Now is the wall clock, which may jump.
	Now() Wall
	// Elapsed is the time since an arbitrary start, and never goes back.
	Elapsed() time.Duration
	// Root is the group that the operator (SIGTERM) or the trial stops; boot then closes cleanly and returns.
	Root() Group
	// Disk opens the root directory of a named volume: "journal", "ledger", "metadata".
	Disk(volume string) (Dir, error)
	Net() Net
	NewMutex(name string) Mutex
	NewCounter(name string) Counter
	// Rand is a private random stream for one user: nothing shifts elsewhere when that user disappears. Not for
	// concurrent use.
	Rand(name string) *rand.Rand
	Memory() Memory
	Probe() Probe
	Log(level Level, message string, fields ...Field)
}

// Group owns tasks. Every task is started in a group, is told to stop through it, and is joined by Wait.
type Group interface {
	// Go starts f as a task of this group. On a group that is stopping f still runs, and sees the stop at once.
	Go(name string, f func())
	// New makes a child group. Stop does not reach it: the owner stops its children in its own order.
	New(name string) Group
	// NewCond makes a condition on m. Its waiters wake when this group stops.
	NewCond(m Mutex) Cond
	// NewGate makes a closed one-shot gate. Its waiters wake when this group stops.
	NewGate() Gate
	// Sleep returns true after d, or false as soon as the group stops. d <= 0 yields.
	Sleep(d time.Duration) bool
	// Stop asks the tasks of this group to end. It does not wait, and may be called again.
	Stop()
	// Stopping reports whether Stop was called.
	Stopping() bool
	// Wait returns when no task of this group is left. A task must not wait for its own group.
	Wait()
}

// Mutex is a mutual exclusion lock. It is not reentrant.
type Mutex interface {
	Lock()
	Unlock()
}

// Cond is a condition variable; waiters wake in FIFO order. The mutex must be held by the caller of Wait and WaitFor
// and is held again when they return. Signal and Broadcast may be called with or without it.
type Cond interface {
	// Wait returns true when signalled, false when the group is stopping.
	Wait() bool
	// WaitFor is Wait with a time limit. It costs more than Wait: keep it off hot paths.
	WaitFor(d time.Duration) Woke
	Signal()
	Broadcast()
}

// Woke says why Cond.WaitFor returned.
type Woke uint8

// The reasons for which a timed wait ends.
const (
	Signalled Woke = iota
	TimedOut
	Stopping
)

// Gate opens once and stays open. Waiting takes no lock again on waking, which makes it the cheap way to release all
// waiters of one commit group.
type Gate interface {
	Open()
	// Wait returns true once the gate is open, false if the group stops first. An open gate wins over a stop.
	Wait() bool
}

// Counter is a number shared by tasks; it also serves as a reference count.
type Counter interface {
	// Add adds n and returns the new value.
	Add(n int64) int64
	Load() int64
	Store(n int64)
}

// Memory hands out buffers, accounted per node. In the simulator a returned buffer is poisoned, so that whoever still
// reads it is found out.
type Memory interface {
	// Get returns a buffer of length n; its content is arbitrary.
	Get(n int) []byte
	// Put gives a buffer from Get back. It must have the start that Get returned; its length may have changed.
	Put(b []byte)
	// InUse is the number of bytes handed out and not yet returned, by capacity.
	InUse() int64
}

// Dir is a directory of a volume. Names are plain: no separators.
type Dir interface {
	// Create makes a new file, open for reading and writing; ErrExist if the name is taken. The name is durable only
	// after SyncDir.
	Create(name string) (File, error)
	// Open opens an existing file for reading and writing; ErrNotExist.
	Open(name string) (File, error)
	// Sub opens a directory below this one and makes it if it is missing; the name is durable only after SyncDir.
	Sub(name string) (Dir, error)
	// Rename replaces to by from, atomically as far as readers see; durable only after SyncDir.
	Rename(from, to string) error
	// Remove deletes a file, or an empty directory; durable only after SyncDir.
	Remove(name string) error
	// List returns the entries sorted by name.
	List() ([]Info, error)
	SyncDir() error
	// Lock takes the directory for this node; ErrLocked if another holds it. A crash releases it.
	Lock() (release func(), err error)
	// Usage is the free and total space of the volume in bytes.
	Usage() (free, total int64, err error)
}

// Dater is what a Dir may offer besides: when the content of a file was last written, as the machine's clock showed then. It
// is a hint and no more: a copy or a restore sets it anew, a clock that is set makes it jump, and a crash may set it back.
// Asked for through Modified.
type Dater interface {
	Modified(name string) (Wall, error)
}

// Info describes one entry of a directory.
type Info struct {
	Name string
	Size int64
	Dir  bool
}

// File is an open file. Reads and writes are positional and may be called from several tasks. A short count with a
// nil error is legal for both; io.EOF comes with n < len(p) at the end of the file.
//
// A File may also implement Mapper, Adviser, BackWriter, MemoryWriter, PastCacheWriter and PastCacheReader.
type File interface {
	ReadAt(p []byte, off int64) (int, error)
	// WriteBuffersAt writes the buffers one after the other at off, in one gather call as far as the machine can. It
	// does not change b. The count says how many bytes were taken, also with an error.
	WriteBuffersAt(b [][]byte, off int64) (int64, error)
	// Sync makes the data and the size durable. Its failure is reported once: the pages count as clean afterwards, and
	// the next Sync may succeed without having written them.
	Sync() error
	// Allocate reserves space for n bytes at off and grows the file to hold them. The new bytes read as zero.
	Allocate(off, n int64) error
	Truncate(n int64) error
	Size() (int64, error)
	Close() error
}

// BackWriter is what a File may offer besides: to begin with the writing of bytes that a later Sync will want on the
// device, and not to wait for it. It promises nothing: what is not synced may survive a crash or not, with it and
// without it. Who writes much before one Sync calls it through StartWriteback, so that the device is busy meanwhile.
type BackWriter interface {
	StartWriteback(off, n int64)
}

// MemoryWriter is what a File may offer besides: small writes that the process itself copies into the machine's page cache, with no
// call of the kernel for each. It is for many of them one behind the other in space that is there already: in a file that was
// preallocated and is not synced with each write. Nothing else changes: reads see what was written, what is behind the end
// makes the file longer, Sync makes it durable and reports what was lost, and a write that the machine cannot do fails. Only what a killed
// process was just writing may be there in part; a power cut can do that to any write. The file may be cut through this File alone while
// it is open. A disk that hangs can hold up the whole process: who has several, and is to go on without one, does without this. Asked for
// through WriteThroughMemory.
type MemoryWriter interface {
	// WriteThroughMemory has later writes go through memory where they can. False: the file is as it was.
	WriteThroughMemory() bool
}

// PastCacheWriter is what a File may offer besides: writes of whole 4 KiB pages that leave no copy in the machine's page cache.
// It is for bytes that nobody reads soon: the kernel spends more on finding memory for them than on writing them, and takes
// that memory from what is read. Nothing else changes: reads see what was written, Sync makes it durable, and before that
// it may survive a crash or not. Asked for through WritePastCache.
type PastCacheWriter interface {
	// WritePastCache has later writes go past the cache. False: the file is as it was.
	WritePastCache() bool
}

// PastCacheReader is what a File may offer besides: to read what is on the device and not what the machine's page cache
// holds of it, which may be older than the damage that one looks for. Nothing is put into the cache. Bytes that are not yet
// written are written first.
type PastCacheReader interface {
	ReadPastCache(p []byte, off int64) (int, error)
}

// Net opens connections. Addresses are "host:port".
type Net interface {
	// Dial connects, within the scope (nil: no bound). Errors: ErrRefused, ErrTimeout, ErrStopping.
	Dial(addr string, s *Scope) (Conn, error)
	// Listen takes an address; port 0 lets the machine choose, and Listener.Addr tells.
	Listen(addr string) (Listener, error)
}

// Listener accepts connections. Close from any task wakes Accept with ErrClosed.
type Listener interface {
	Accept() (Conn, error)
	Addr() string
	Close() error
}

// Conn is a byte stream. One task reads, one task writes; Close from any task wakes both with ErrClosed. It may also implement
// SpanSender.
type Conn interface {
	// Read returns at least one byte, or an error: io.EOF after the peer closed cleanly, ErrReset, ErrTimeout, ErrClosed.
	Read(p []byte) (int, error)
	// WriteBuffers writes all of b or breaks the connection. It blocks on a slow peer. It does not change b.
	WriteBuffers(b [][]byte) error
	// Limits bounds the time a Read waits for a byte, and a WriteBuffers for progress. Zero: no bound. A call that is
	// already waiting keeps its old bound.
	Limits(readIdle, writeStall time.Duration)
	// Peer is the remote address.
	Peer() string
	Close() error
}

// AwaitStop parks the calling task until the group stops.
func AwaitStop(g Group) {
	for g.Sleep(time.Hour) {
	}
}

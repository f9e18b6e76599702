package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"lakebed/engine/host"
	"lakebed/engine/record"
	"lakebed/internal/invariant"
)

// ErrFailed says that a write or sync failed and the journal has stopped: what was in flight is of unknown outcome.
var ErrFailed = errors.New("journal has failed")

// Points of the journal. A is the group's sequence, B the bytes or the file id.
const (
	PointGroupWritten  host.Point = "journal.group-written"  // written, not yet synced
	PointGroupSynced   host.Point = "journal.group-synced"   // synced, not yet completed
	PointRolled        host.Point = "journal.rolled"         // a new file was taken
	PointPrepared      host.Point = "journal.prepared"       // a file lies ready, zero-filled
	PointTrimmed       host.Point = "journal.trimmed"        // A files were removed
	PointReplayedGroup host.Point = "journal.replayed-group" // a group was handed out
	PointTornTail      host.Point = "journal.torn-tail"      // replay met a bad last group
	PointUndecided     host.Point = "journal.undecided"      // and cannot tell whether it was acknowledged
	PointSyncFailed    host.Point = "journal.sync-failed"    // fail-stop
)

// Completion is told the outcome of a batch, in a task that many batches depend on: it must not block.
type Completion interface{ Committed(err error) }

// Mark says that everything up to Sequence is stored elsewhere, and which file replay starts with.
type Mark struct {
	Sequence uint64
	File     uint64 // oldest file that is still needed; zero: none was ever made
	First    uint64 // sequence of the first group of that file
}

// payload is what one group gathers.
type payload struct {
	group record.Group
	done  []Completion
}

// Journal is the write-ahead log of one bookie.
type Journal struct {
	h      host.Host
	dir    host.Dir
	config Config
	rand   *rand.Rand

	commits *host.GroupCommit[*payload]
	tasks   host.Group // prepare and interval sync
	stopped bool

	mutex   host.Mutex
	changed host.Cond // next taken or offered, or closing
	files   []fileInfo
	spares  []string // trimmed files to use again
	next    *file    // lies ready
	refused error    // why it does not
	closing bool

	// Owned by the committing task.
	current  *file
	offset   int64
	zeros    []byte       // a page, never written
	sealed   host.Counter // last sequence given to a group
	durable  uint64       // last sequence known synced
	unsynced bool
	gap      bool // a file was left unsynced, in mode never: nothing from there on is known to be durable

	syncing    host.Mutex // held during a sync
	syncFailed error      // guarded by syncing
	onFailure  func(error)
}

// fileInfo is what the journal remembers of a file that may still be needed.
type fileInfo struct {
	id    uint64
	first uint64
	last  uint64 // meaningful for files behind the current one
}

// Open looks at the directory; Replay and Start follow, in this order.
func Open(h host.Host, dir host.Dir, config Config) (*Journal, error) {
	j := &Journal{
		h: h, dir: dir, config: config, rand: h.Rand("journal"),
		zeros: make([]byte, record.Align), mutex: h.NewMutex("journal-files"), syncing: h.NewMutex("journal-sync"), sealed: h.NewCounter("journal-sealed"),
	}
	ids, err := listFiles(dir)
	if err != nil {
		return nil, fmt.Errorf("list journal files: %w", err)
	}
	for _, id := range ids {
		j.files = append(j.files, fileInfo{id: id})
	}
	if err := j.removeUnfinished(); err != nil {
		return nil, err
	}
	return j, j.adoptSpares()
}

// Empty reports whether the directory held no journal file when it was opened.
func (j *Journal) Empty() bool { return len(j.files) == 0 }

// OnFailure has f told of a failure that no batch waits for: that of a sync at an interval. Call it before Start.
func (j *Journal) OnFailure(f func(error)) { j.onFailure = f }

// Start makes the first file of this run and starts the tasks below g. Sequences go on behind last. durable is how far
// the mark vouches: what was replayed behind it may be in the page cache only, so nothing may call it durable until the
// caller has stored it elsewhere. The caller must have done so before the first append.
func (j *Journal) Start(g host.Group, last, durable uint64) error {
	f, err := j.create(j.lastID() + 1)
	if err != nil {
		return fmt.Errorf("start journal: %w", err)
	}
	j.tasks = g.New("journal")
	j.changed = j.tasks.NewCond(j.mutex)
	j.sealed.Store(int64(last))
	j.durable = durable
	j.take(f, last+1)
	j.tasks.Go("journal-prepare", j.prepare)
	if j.config.Sync == SyncInterval {
		j.tasks.Go("journal-sync", j.syncAtIntervals)
	}
	limit := j.config.GroupBytesMax
	if j.config.Sync == SyncAlways {
		limit = 1 // one batch fills a group
	}
	j.commits = host.NewGroupCommit(j.h, g, host.GroupCommitConfig[*payload]{
		Name: "journal-commit", Limit: limit, Wait: j.config.GroupWait,
		Payloads: [3]*payload{{}, {}, {}},
		Commit:   j.commit, Settle: settle,
	})
	return nil
}

func (j *Journal) lastID() uint64 {
	if len(j.files) == 0 {
		return 0
	}
	return j.files[len(j.files)-1].id
}

// AwaitRoom waits until the open group has room; ErrFailed or host.ErrStopping if it never will.
func (j *Journal) AwaitRoom() error { return j.commits.AwaitRoom() }

// Appender adds records to the open group. Others wait while it exists: keep it short.
type Appender struct {
	journal *Journal
	payload *payload
	ticket  *host.Ticket
	before  int
}

// Begin opens an appender; End must follow. Not ok: the open group is full or the journal has failed, and AwaitRoom
// comes first.
func (j *Journal) Begin() (a Appender, ok bool) {
	p, ticket, ok := j.commits.Enter()
	if !ok {
		return a, false
	}
	return Appender{journal: j, payload: p, ticket: ticket, before: p.group.Bytes()}, true
}

// Record appends one record. A long body is not copied: it must stay as it is until the batch completes.
func (a *Appender) Record(h *record.Header, body []byte) { a.payload.group.Append(h, body) }

// End closes the batch. done, if not nil, is told its outcome; the ticket tells those who wait.
func (a *Appender) End(done Completion) *host.Ticket {
	bytes := a.payload.group.Bytes() - a.before
	if done != nil {
		invariant.Check(bytes > 0, "only a batch with records completes")
		a.payload.done = append(a.payload.done, done)
	}
	if bytes > 0 && a.journal.h.Probe().Perhaps(PointSealNow) {
		a.journal.commits.Seal()
	}
	a.journal.commits.Leave(int64(bytes))
	return a.ticket
}

// Sealed is the sequence of the last group that takes no more records. Whoever keeps appends away and has stored
// everything appended so far has stored every group up to it.
func (j *Journal) Sealed() uint64 { return uint64(j.sealed.Load()) }

// commit writes one group and makes it as durable as the mode says. It runs in the committing task only.
func (j *Journal) commit(p *payload) error {
	size := record.EncodedBytes(p.group.Bytes())
	invariant.Check(record.FileHeaderBytes+size <= j.config.FileBytes, "a journal file holds the largest group")
	sequence := j.Sealed() + 1
	early := j.offset > record.FileHeaderBytes && j.h.Probe().Perhaps(PointRollNow)
	if j.offset+size > j.config.FileBytes || early {
		if err := j.roll(sequence); err != nil {
			return fmt.Errorf("%w: roll: %w", ErrFailed, err)
		}
	}
	j.sealed.Store(int64(sequence))
	vectors := p.group.Seal(record.Seal{
		Identity: j.current.header.Identity, Sequence: sequence, DurableThrough: j.durable, Offset: j.offset,
	})
	if err := j.write(vectors, sequence, size); err != nil {
		return err
	}
	if j.config.Sync == SyncAlways || j.config.Sync == SyncGroup {
		return j.sync(sequence)
	}
	return nil
}

// write writes one group, and the page that says that no other was begun if the file does not say so by itself.
func (j *Journal) write(vectors [][]byte, sequence uint64, size int64) error {
	if j.current.recycled && j.offset+size < j.config.FileBytes {
		vectors = append(vectors, j.zeros)
	}
	if _, err := host.WriteFull(j.current.File, vectors, j.offset); err != nil {
		return fmt.Errorf("%w: write group %d at %d of file %016x: %w",
			ErrFailed, sequence, j.offset, j.current.header.ID, err)
	}
	j.offset += size
	j.unsynced = true
	j.h.Probe().Mark(host.Event{Name: PointGroupWritten, A: int64(sequence), B: size})
	return nil
}

// sync makes everything up to sequence durable. Its failure is final: the kernel may have marked the pages clean, so
// that another sync would succeed without having written them.
func (j *Journal) sync(sequence uint64) error {
	if err := j.syncCurrent(); err != nil {
		j.h.Probe().Mark(host.Event{Name: PointSyncFailed, A: int64(sequence)})
		return fmt.Errorf("%w: sync group %d of file %016x: %w", ErrFailed, sequence, j.current.header.ID, err)
	}
	if !j.gap {
		j.durable = sequence
	}
	j.unsynced = false
	j.h.Probe().Mark(host.Event{Name: PointGroupSynced, A: int64(sequence)})
	return nil
}

// settle completes a group's batches and empties it.
func settle(p *payload, err error) {
	for _, done := range p.done {
		done.Committed(err)
	}
	clear(p.done)
	p.done = p.done[:0]
	p.group.Reset()
}

// Hurry has a group that needs the next file fail if that cannot be made, instead of waiting until it can, and no group wait
// for more batches.
func (j *Journal) Hurry() {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.closing = true
	j.changed.Broadcast()
	if j.commits != nil {
		j.commits.Hurry()
	}
}

// Drain commits what was appended and takes nothing more.
func (j *Journal) Drain() error {
	j.Hurry()
	if !j.stopped {
		j.stopped = true
		j.commits.End()
	}
	return j.commits.AwaitRoom()
}

// Abandon ends the tasks of a journal to which nothing was appended, without a footer: a start that failed must not
// look like a clean stop. Unless a mark may name them, the files of this run go, so that failing starts do not fill the
// volume.
func (j *Journal) Abandon(named bool) {
	if j.commits == nil {
		return
	}
	_ = j.Drain()
	j.endTasks()
	_ = j.current.Close()
	if !named {
		j.removeRun()
	}
}

// removeRun removes the files of this run, the last one first and each for good before the next: a crash must not leave
// a gap. They are looked up, because one whose preparation failed may have got its name. What cannot be removed stays
// until a start succeeds.
func (j *Journal) removeRun() {
	ids, err := listFiles(j.dir)
	if err != nil {
		return
	}
	for _, id := range slices.Backward(ids) {
		if id < j.current.header.ID || j.dir.Remove(FileName(id)) != nil || j.dir.SyncDir() != nil {
			return
		}
	}
}

// endTasks ends the preparing and syncing of files.
func (j *Journal) endTasks() {
	j.tasks.Stop()
	j.tasks.Wait()
	if j.next != nil {
		_ = j.next.Close() // stays as it is: an empty file
	}
}

// Close drains the journal, ends the tasks, and writes a footer, which lets the next start tell rot from a torn
// tail. Nothing may be appended afterwards.
func (j *Journal) Close() error {
	if j.commits == nil {
		return nil
	}
	err := j.Drain()
	j.endTasks()
	if err == nil {
		err = j.writeFooter()
	}
	if closed := j.current.Close(); err == nil {
		err = closed
	}
	return err
}

func (j *Journal) writeFooter() error {
	if j.unsynced {
		if err := j.sync(j.Sealed()); err != nil {
			return err
		}
	}
	if j.gap || j.offset+record.EncodedBytes(0) > j.config.FileBytes {
		return nil // the next start calls this stop unclean, and loses nothing by it
	}
	sequence := j.Sealed() + 1
	j.sealed.Store(int64(sequence))
	var g record.Group
	vectors := g.Seal(record.Seal{
		Identity: j.current.header.Identity, Sequence: sequence, DurableThrough: j.durable, Offset: j.offset, Footer: true,
	})
	if err := j.write(vectors, sequence, record.EncodedBytes(0)); err != nil {
		return err
	}
	return j.sync(sequence)
}

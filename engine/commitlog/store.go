package commitlog

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/commit"
	"lakebed/engine/commitlog/keyindex"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
	"lakebed/engine/openfiles"
)

// Points of the store. A is an offset in the log.
const (
	PointWritten       host.Point = "commitlog.group-written" // not yet synced
	PointSynced        host.Point = "commitlog.group-synced"  // not yet acknowledged
	PointRolled        host.Point = "commitlog.rolled"        // a message begins a file at A
	PointDispatched    host.Point = "commitlog.dispatched"    // units up to A are in their queues
	PointCheckpointed  host.Point = "commitlog.checkpointed"
	PointRecovered     host.Point = "commitlog.recovered"    // A is the end of the log, B how much was read
	PointTornTail      host.Point = "commitlog.torn-tail"    // recovery cut off bytes that were no record
	PointRewritten     host.Point = "commitlog.rewritten"    // recovery wrote B bytes again
	PointRebuilt       host.Point = "commitlog.rebuilt"      // there was no checkpoint
	PointIndexRemade   host.Point = "commitlog.index-remade" // the key index lacked what the log has from A on, to B
	PointBadCheckpoint host.Point = "commitlog.bad-checkpoint"
	PointRefused       host.Point = "commitlog.refused" // an append was refused for lack of space
	PointFailed        host.Point = "commitlog.failed"
	PointClosed        host.Point = "commitlog.closed"
	PointSuspended     host.Point = "commitlog.pull-suspended"
	PointWoken         host.Point = "commitlog.pull-woken"
	PointLooking       host.Point = "commitlog.looking"        // retention has read the clock, and is about to look; A: the time, ms
	PointRollNow       host.Point = "commitlog.roll-now"       // asks whether a message begins a new file though it fits
	PointDispatchLess  host.Point = "commitlog.dispatch-less"  // asks whether a batch of units ends behind this message
	PointPullLess      host.Point = "commitlog.pull-less"      // asks whether an answer ends behind this message
	PointUnchecked     host.Point = "commitlog.unchecked"      // a group that ends at A waits for a checkpoint; the last is at B
	PointCheckpointNow host.Point = "commitlog.checkpoint-now" // asks whether to make one though none is due
)

// queuesDirectory is the name of the directory of all queues.
const queuesDirectory = "consumequeue"

// Store is one open store.
type Store struct {
	h      host.Host
	config Config
	dir    host.Dir
	unlock func()
	log    *series.Series
	files  *openfiles.Cache
	index  *keyindex.Index // nil: switched off
	queues host.Dir        // the directory of all queues

	tasks   host.Group // all but the dispatcher
	work    host.Group // the dispatcher
	commits *commit.Line[*group]

	// Guarded by the lock of the open group, between Enter and Leave.
	tail   int64 // where the next record goes, or the blank before it
	blank  bool  // the group that was appended to last ends with a blank
	there  int64 // behind the last file that is known to be there
	stored int64 // store timestamp of the last one, ms

	wallBase  host.Wall     // what the wall clock is ahead of Elapsed
	wallUntil time.Duration // and until when that is believed, on Elapsed

	// Used by whoever has the turn to commit.
	writer     *series.Writer
	zeroed     int64  // behind the zeros that were written ahead
	zeros      []byte // some
	unhindered int64  // groups that end here or before need not wait for a checkpoint

	syncing    host.Mutex // held during a sync of the log
	syncFailed error      // guarded by syncing

	mutex        host.Mutex
	moved        host.Cond // dispatched has moved, or the store has failed or closes
	confirm      host.Cond // the dispatcher waits for messages
	due          host.Cond // the checkpointing task waits for its time
	watcher      host.Cond // AwaitEnd
	clean        host.Cond // the cleaning task waits for its time
	written      int64
	synced       int64
	confirmed    int64
	sealed       int64 // confirmed, as far as no later write touches its last sector
	sealing      bool  // a checkpoint waits for that
	dispatched   int64
	pending      int64 // units made since the last checkpoint
	hurry        bool  // a checkpoint is wanted at once
	resting      bool  // the dispatcher pauses
	wanted       bool  // and somebody has asked for units
	starved      bool  // the last attempt to make one was refused by a full disk
	checkpointed int64 // dispatched, as the last checkpoint says
	covered      int64 // dispatched, as the older of the last two says
	coveredFirst int64 // where the log began when that was made
	topics       map[string]*topic
	queueCount   int
	failed       error
	closing      bool
	cut          int64 // bytes that the start has cut off the log
	users        int   // of reading calls under way
	suspended    int   // pulls
	diskFull     bool
	roomless     bool  // a full disk has refused something since the last round of retention
	lastStored   int64 // store timestamp of the last confirmed message, ms

	creating      host.Mutex // held while a topic's directories are made
	cleaning      host.Mutex // held during a round of retention
	checkpointing host.Mutex // held during a checkpoint
	// Guarded by checkpointing.
	durable checkpoint // the last one
	older   checkpoint // the one before, by which a start goes if the last one is damaged
	slot    int        // where the last one lies
}

// Open opens the store, brings it back to what was promised, and starts its tasks below g.
func Open(h host.Host, g host.Group, config Config) (*Store, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("commit log settings: %w", err)
	}
	s := &Store{
		h: h, config: config, topics: map[string]*topic{}, mutex: h.NewMutex("commitlog"), syncing: h.NewMutex("commitlog-sync"),
		creating: h.NewMutex("commitlog-topics"), cleaning: h.NewMutex("commitlog-clean"), checkpointing: h.NewMutex("commitlog-checkpoint"),
		files: openfiles.New(h, g.New("commitlog-files"), config.OpenFilesMax), // waits until Close, whatever stops before
		tasks: g.New("commitlog"), work: g.New("commitlog-dispatch"),
	}
	s.moved, s.confirm, s.due = s.tasks.NewCond(s.mutex), s.work.NewCond(s.mutex), s.tasks.NewCond(s.mutex)
	s.clean = s.tasks.NewCond(s.mutex)
	err := s.open()
	if err == nil {
		err = s.recover()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open commit log: %w", err), s.closeFiles())
	}
	s.start(g)
	return s, nil
}

// open takes the directory and opens its files.
func (s *Store) open() (err error) {
	if s.dir, err = s.h.Disk(StoreVolume); err != nil {
		return err
	}
	if s.unlock, err = s.dir.Lock(); err != nil {
		return err
	}
	logs, err := s.dir.Sub("commitlog")
	if err != nil {
		return err
	}
	if s.queues, err = s.dir.Sub(queuesDirectory); err != nil {
		return err
	}
	if err := s.dir.SyncDir(); err != nil {
		return err
	}
	if s.log, err = series.Open(s.h, logs, s.config.seriesConfig()); err != nil {
		return fmt.Errorf("%w", classified(err))
	}
	return nil
}

// classified says of an error of the files which class of ours it is.
func classified(err error) error {
	if errors.Is(err, series.ErrBroken) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

func (s *Store) start(g host.Group) {
	s.log.Start(g, s.tail)
	s.writer = s.log.Writer()
	s.zeros = make([]byte, min(s.config.ZeroAheadBytes, zerosAtOnce))
	limit, wait := s.config.GroupBytesMax, s.config.GroupWait
	if s.config.Flush == FlushAlways {
		limit, wait = 1, 0 // one message fills a group
	}
	s.commits = commit.New(s.h, g, commit.Config[*group]{
		Name: "commitlog-commit", Limit: limit, Wait: wait, ByAppender: true,
		Payloads: [3]*group{{}, {}, {}}, Commit: s.commit, Settle: s.settle,
	})
	s.work.Go("commitlog-dispatch", s.dispatch)
	s.tasks.Go("commitlog-checkpoint", s.checkpointAtTimes)
	s.tasks.Go("commitlog-clean", s.cleanAtIntervals)
	if s.config.Flush == FlushInterval {
		s.tasks.Go("commitlog-flush", s.flushAtIntervals)
	}
}

// fail stops the store: nothing is acknowledged any more.
func (s *Store) fail(err error) {
	s.mutex.Lock()
	first := s.failed == nil
	if first {
		s.failed = fmt.Errorf("%w: %w", ErrFailed, err)
	}
	s.wakeAll()
	s.mutex.Unlock()
	if first {
		s.h.Log(host.Error, "the commit log has failed and stops", host.F("error", err))
		s.h.Probe().Mark(host.Event{Name: PointFailed})
		s.commits.Fail(fmt.Errorf("%w: %w", ErrFailed, err))
	}
}

// wakeAll wakes every waiting task of the store. The mutex is held.
func (s *Store) wakeAll() {
	s.moved.Broadcast()
	s.confirm.Broadcast()
	s.due.Broadcast()
	s.clean.Broadcast()
	if s.watcher != nil {
		s.watcher.Broadcast()
	}
}

// Failed is the error that stopped the store, or nil.
func (s *Store) Failed() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.failed
}

// AwaitEnd waits until the store fails, which it returns, or the group stops. One task may wait.
func (s *Store) AwaitEnd(g host.Group) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.watcher = g.NewCond(s.mutex)
	for s.failed == nil {
		if !s.watcher.Wait() {
			return nil
		}
	}
	return s.failed
}

// begin lets a reading call in, end lets it out. Close waits for those inside.
func (s *Store) begin() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closing {
		return ErrStopped
	}
	s.users++
	return nil
}

func (s *Store) end() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.users--
	if s.closing {
		s.moved.Broadcast()
	}
}

// Close acknowledges what was appended, makes its units durable, and ends the tasks. A store that has failed or cannot do so
// is left as a crash would leave it.
func (s *Store) Close() error {
	s.mutex.Lock()
	if s.closing {
		s.mutex.Unlock()
		return nil
	}
	s.closing = true
	s.wakeAll()
	s.mutex.Unlock()
	s.commits.Hurry() // appends may wait in a group for more, and no more come
	s.awaitUsers()    // appends among them: nobody enters a group any more
	s.askBlank()      // for the last checkpoint
	s.commits.End()
	caughtUp := s.awaitDispatch()
	s.work.Stop()
	s.work.Wait()
	s.tasks.Stop()
	s.tasks.Wait()
	err := s.Failed()
	if err == nil {
		err = s.checkpoint(caughtUp)
	}
	if closed := s.closeFiles(); err == nil {
		err = closed
	}
	if err == nil {
		s.h.Probe().Mark(host.Event{Name: PointClosed})
	}
	return err
}

// awaitDispatch waits until every message has its unit. False: it did not come to it.
func (s *Store) awaitDispatch() bool {
	deadline := s.h.Elapsed() + s.config.CloseDispatch
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for s.failed == nil && s.dispatched < s.confirmed {
		left := deadline - s.h.Elapsed()
		if left <= 0 || s.moved.WaitFor(left) == host.Stopping {
			break
		}
	}
	return s.failed == nil && s.dispatched == s.confirmed
}

// awaitUsers ends suspended pulls and waits for the calls that are inside.
func (s *Store) awaitUsers() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, name := range host.SortedKeys(s.topics) {
		for _, q := range s.topics[name].queues {
			q.units.End()
		}
	}
	for s.users > 0 && s.moved.Wait() {
	}
}

// closeFiles closes what is open and gives the directory back.
func (s *Store) closeFiles() error {
	var failed error
	if s.writer != nil {
		s.writer.Close()
	}
	if s.log != nil {
		failed = errors.Join(failed, s.log.Close())
	}
	if s.index != nil {
		failed = errors.Join(failed, s.index.Close())
	}
	failed = errors.Join(failed, s.files.Close())
	if s.unlock != nil {
		s.unlock()
	}
	return failed
}

// Stats are where the store stands.
type Stats struct {
	First, Written, Synced, Confirmed, Dispatched int64 // offsets in the log
	Topics, Queues, OpenQueueFiles                int
	Suspended                                     int   // pulls that wait
	Cut                                           int64 // bytes that the start has cut off the log, since they were damaged
	DiskFull                                      bool
}

// Stats tells where the store stands.
func (s *Store) Stats() Stats {
	first := s.log.First()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return Stats{
		First: first, Written: s.written, Synced: s.synced, Confirmed: s.confirmed, Dispatched: s.dispatched,
		Topics: len(s.topics), Queues: s.queueCount, Suspended: s.suspended, Cut: s.cut, OpenQueueFiles: s.files.InHand(), DiskFull: s.diskFull,
	}
}

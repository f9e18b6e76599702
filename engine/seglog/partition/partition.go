package partition

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/commit"
	"lakebed/engine/host"
	"lakebed/engine/openfiles"
	"lakebed/engine/seglog/message"
)

// Place says where a partition lives and what it shares with others.
type Place struct {
	Name  string // of the partition, for messages and as the directory's name among the open files
	Dir   host.Dir
	Files *openfiles.Cache
	// Writers counts the partitions that take appends and share Config.CheckpointBytes. Nil: this one is alone.
	Writers host.Counter
	// Failed is told, once, of a failure after which nothing more is written until Restore. It must not block.
	Failed func(error)
}

// Partition is one partition of a topic.
type Partition struct {
	h      host.Host
	group  host.Group
	tasks  host.Group // the settling task
	place  Place
	config Config

	mutex     host.Mutex
	waiting   []host.Cond // of those that wait until messages become visible, or none will
	segments  []*segment
	visible   Cursor // behind the last message that reads show
	state     state
	failure   error
	commits   *commit.Line[*payload] // nil: nothing was appended yet
	undecided []*outcome             // of the groups whose appenders wait, the oldest first
	busySince time.Duration          // a commit is under way since then; zero: none
	unsynced  bool                   // the open segment holds what no sync has reached
	doomed    []*segment             // removed by retention, but not yet from the directory
	settled   host.Cond              // a segment was sealed, or none will be
	settling  bool                   // the settling task is at work
	counted   bool                   // among Place.Writers
	sound     bool                   // nothing had failed when it was closed
	partial   bool                   // the directory could not be looked through to its end

	syncing    host.Mutex // held during a sync of the log outside of commits
	syncFailed error      // guarded by syncing

	sealedItems int // of the list of sealed segments; of who recovers, and then of the settling task

	next Cursor // of the next append; guarded by the open group

	// Of whoever has the turn to commit.
	log     *openfiles.Handle // that was written to last, given back since; nil: none was
	logBase Cursor
	zeroed  int64 // to where the open segment's log has zeros behind its end
}

// state is what a partition can do.
type state uint8

const (
	open state = iota
	failed
	closed
)

// Message is what is appended.
type Message struct {
	Payload []byte // a LogGroupList
	Time    Time   // its largest time
}

// NewMessage checks a payload and takes its time out of it.
func NewMessage(payload []byte) (Message, error) {
	t, err := message.NewestTime(payload)
	return Message{Payload: payload, Time: t}, err
}

// Open looks through the directory, settles what a crash has left there, and is then ready for appends and reads. If that
// cannot be done the partition has failed from the start (Err): what could be read of it is served, and Restore tries
// again. The partition's tasks start below g.
func Open(h host.Host, g host.Group, place Place, config Config) *Partition {
	p := &Partition{h: h, group: g, place: place, config: config, mutex: h.NewMutex("partition"),
		tasks: g.New("partition"), syncing: h.NewMutex("partition-sync")}
	p.settled = p.tasks.NewCond(p.mutex)
	segments, err := p.recover()
	if err != nil {
		err = fmt.Errorf("open partition %s: %w", place.Name, err)
	}
	p.install(segments, err)
	if err != nil {
		p.tellFailed(err)
	}
	return p
}

// endOf is the cursor behind the last message of segments.
func endOf(segments []*segment) Cursor {
	if n := len(segments); n > 0 {
		return segments[n-1].next
	}
	return 0
}

// install takes up what recover found, before its failure if there was one. Then the partition is never open, not even for a moment: the
// settling task would seal a segment of which only the beginning could be read, and the rest would be lost.
func (p *Partition) install(segments []*segment, failure error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.segments = segments
	setPeaks(segments)
	p.visible, p.partial, p.doomed = endOf(segments), failure != nil, nil
	p.state, p.failure, p.commits, p.busySince, p.unsynced = open, nil, nil, 0, false
	p.zeroed = 0
	p.wakeWaiting()
	if failure != nil {
		p.state, p.failure = failed, failure
		return
	}
	p.wakeSettler()
}

// Append appends messages, which get cursors one after the other, and returns the first. It answers when they are as
// durable as the mode says.
func (p *Partition) Append(messages []Message) (Cursor, error) {
	bytes, err := p.sizeOf(messages)
	if err != nil {
		return 0, err
	}
	commits, err := p.committer()
	if err != nil {
		return 0, err
	}
	group, err := commits.EnterInTurn()
	if err != nil {
		return 0, p.refusal(err)
	}
	first := p.next
	p.grow(group, bytes)
	for i := range messages {
		group.add(p.next, &messages[i])
		p.next++
	}
	if commits.Leads() {
		group.told = &group.lone
		return first, commits.Commit(bytes).Wait()
	}
	told := p.join(group)
	commits.Commit(bytes)
	return first, told.wait()
}

// sizeOf is the length of the records of messages, which are not too long.
func (p *Partition) sizeOf(messages []Message) (total int64, err error) {
	for i := range messages {
		if n := len(messages[i].Payload); n > p.config.MessageBytesMax {
			return 0, fmt.Errorf("payload of %d bytes, more than %d: %w", n, p.config.MessageBytesMax, ErrTooLarge)
		}
		total += message.Size(len(messages[i].Payload))
	}
	if len(messages) == 0 || total > p.config.BatchBytesMax {
		return 0, fmt.Errorf("%d messages of %d bytes together, want one at least and at most %d bytes: %w",
			len(messages), total, p.config.BatchBytesMax, ErrTooLarge)
	}
	return total, nil
}

// committer returns what commits, and starts it at the first append.
func (p *Partition) committer() (*commit.Line[*payload], error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.state != open {
		return nil, p.refusalLocked()
	}
	if p.commits == nil {
		p.next = endOf(p.segments)
		limit, wait := p.config.GroupBytesMax, p.config.GroupWait
		if p.config.Sync == SyncAlways {
			limit, wait = 1, 0 // one append fills a group
		}
		if !p.counted && p.place.Writers != nil {
			p.place.Writers.Add(1)
			p.counted = true
		}
		p.commits = commit.New(p.h, p.group, commit.Config[*payload]{
			Name: "commit", Limit: limit, Wait: wait, ByAppender: p.config.Committer == ByAppender,
			Payloads: [3]*payload{{}, {}, {}}, Commit: p.commit, Settle: p.settle,
		})
	}
	return p.commits, nil
}

// durable reports whether what is acknowledged is synced.
func (p *Partition) durable() bool {
	return p.config.Sync == SyncAlways || p.config.Sync == SyncGroup
}

// refusal is the answer to an append of which nothing was stored.
func (p *Partition) refusal(err error) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.state == open {
		return err // the process stops
	}
	return p.refusalLocked()
}

func (p *Partition) refusalLocked() error {
	if p.state == closed {
		return fmt.Errorf("partition %s: %w", p.place.Name, ErrClosed)
	}
	return fmt.Errorf("partition %s: %w: %w", p.place.Name, ErrFailed, p.failure)
}

// active is the segment that takes appends, or nil. The mutex is held.
func (p *Partition) active() *segment {
	if n := len(p.segments); n > 0 && !p.segments[n-1].sealed && !p.segments[n-1].full {
		return p.segments[n-1]
	}
	return nil
}

// fail stops all writing. Only the first failure counts.
func (p *Partition) fail(err error) {
	p.mutex.Lock()
	first := p.state == open
	if first {
		p.state, p.failure = failed, err
		p.wakeWaiting()
		p.settled.Broadcast()
	} else if p.state == closed && err != ErrClosed && p.failure == nil {
		p.failure = err // what was under way when it was closed
	}
	commits := p.commits
	p.mutex.Unlock()
	if !first {
		return
	}
	if commits != nil {
		commits.Fail(err)
	}
	p.tellFailed(err)
}

// tellFailed lets the store know of a failure.
func (p *Partition) tellFailed(err error) {
	p.h.Probe().Mark(host.Event{Name: PointFailed, Extra: p.place.Name})
	p.place.Failed(err)
}

// Err is the failure that has stopped the partition, or nil.
func (p *Partition) Err() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.failure
}

// Overdue stops a partition whose commit is under way for longer than patience, and frees who waits for it: what the
// commit was to store is of unknown outcome. An appender that commits itself is in the disk's hands, and hears of it later.
func (p *Partition) Overdue(patience time.Duration) bool {
	p.mutex.Lock()
	since := p.busySince
	p.mutex.Unlock()
	if since == 0 || p.h.Elapsed()-since <= patience {
		return false
	}
	p.GiveUp(fmt.Errorf("a commit takes longer than %v", patience))
	return true
}

// GiveUp stops all writing, as a failure does, and frees who waits.
func (p *Partition) GiveUp(err error) {
	p.fail(err)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, o := range p.undecided {
		o.decide(p.answer(o, err))
	}
	p.undecided = p.undecided[:0]
}

// Restore takes a partition that has failed back into service: it settles what the failure left, as after a crash. It
// waits for a commit that hangs.
func (p *Partition) Restore() error {
	p.mutex.Lock()
	commits, was := p.commits, p.state
	p.mutex.Unlock()
	if was != failed {
		return nil
	}
	if commits != nil {
		commits.End()
		p.mutex.Lock()
		p.commits = nil
		p.mutex.Unlock()
	}
	p.tasks.Wait()
	p.forgetFiles()
	p.syncing.Lock()
	p.syncFailed = nil
	p.syncing.Unlock()
	segments, err := p.recover()
	if err != nil {
		return fmt.Errorf("restore partition %s: %w", p.place.Name, err)
	}
	if end := endOf(segments); end < p.visible && p.durable() {
		return fmt.Errorf("restore partition %s: it ends at cursor %d, and messages up to %d were acknowledged: %w",
			p.place.Name, end, p.visible, ErrCorrupt)
	}
	p.install(segments, nil)
	p.h.Probe().Mark(host.Event{Name: PointRestored, A: int64(p.visible), Extra: p.place.Name})
	return nil
}

// forgetFiles has the files opened anew: a failed sync of an old handle must not be told to those who use it from now on.
func (p *Partition) forgetFiles() {
	p.mutex.Lock()
	segments := p.segments
	p.mutex.Unlock()
	for _, s := range segments {
		p.forget(s.base)
	}
	p.forgetList()
}

func (p *Partition) forget(base Cursor) {
	for _, suffix := range []string{logSuffix, indexSuffix, timesSuffix, checkpointSuffix} {
		p.forgetFile(base, suffix)
	}
}

func (p *Partition) forgetFile(base Cursor, suffix string) {
	p.place.Files.Forget(openfiles.Key{Dir: p.place.Name, Name: fileName(base, suffix)})
}

// file returns an open file of a segment, in use until Release. Whoever finds that a sync has failed meanwhile, a reader
// perhaps, stops the writing.
func (p *Partition) file(base Cursor, suffix string) (*openfiles.Handle, error) {
	key := openfiles.Key{Dir: p.place.Name, Name: fileName(base, suffix)}
	f, err := p.place.Files.Open(key, func() (host.File, error) { return p.place.Dir.Open(key.Name) })
	if errors.Is(err, openfiles.ErrNotSynced) {
		p.fail(err)
	}
	return f, err
}

// logOf is the log of a segment that is in sight. One that is missing is damage: retention takes segments out of sight first.
func (p *Partition) logOf(base Cursor) (*openfiles.Handle, error) {
	f, err := p.file(base, logSuffix)
	if errors.Is(err, host.ErrNotExist) {
		err = fmt.Errorf("log %d is missing: %w", base, ErrCorrupt)
	}
	return f, err
}

// Stop refuses what is not begun, and wakes those who wait for messages. It does not wait. Close follows.
func (p *Partition) Stop() {
	p.mutex.Lock()
	if p.state != closed {
		p.sound = p.state == open
		p.state = closed
		p.wakeWaiting()
		p.settled.Broadcast()
	}
	commits := p.commits
	p.mutex.Unlock()
	if commits != nil {
		commits.Fail(ErrClosed)
	}
}

// Close stops the partition, waits for what was begun, and seals what is not sealed, so that the next start need not look
// for its end. Other calls must have ended.
func (p *Partition) Close() error {
	p.Stop()
	if p.commits != nil {
		p.commits.End()
	}
	p.tasks.Wait()
	p.tasks.Stop()
	var err error
	if p.sound && p.failure == nil {
		err = p.sealAll()
	}
	p.forgetFiles()
	if p.counted {
		p.place.Writers.Add(-1)
	}
	if err != nil {
		return fmt.Errorf("close partition %s: %w", p.place.Name, err)
	}
	return nil
}

// sealAll seals every segment that holds messages. No task of the partition is left.
func (p *Partition) sealAll() error {
	if a := p.active(); a != nil && !a.empty() {
		if err := p.finish(a); err != nil {
			return err
		}
	}
	for _, s := range p.segments { // as they are now: seal puts others in their places
		if s.full && !s.sealed {
			if err := p.seal(s); err != nil {
				return err
			}
		}
	}
	return nil
}

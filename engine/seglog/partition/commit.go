package partition

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/openfiles"
	"lakebed/engine/seglog/message"
	"lakebed/internal/invariant"
)

// keptBufferBytes bounds what a group that is done keeps for the next one: partitions may be many.
const keptBufferBytes = 64 << 10

// payload is what one group gathers.
type payload struct {
	buffer []byte // records
	first  Cursor
	times  []Time
	sizes  []int64
	told   *outcome
	lone   outcome // told, where the only appender commits
	within bool    // something of it may be in a log
	roll   bool    // the open segment is to be sealed first, however short it is

	vector [1][]byte // the buffer, as files take it
}

// write writes the records.
func (g *payload) write(f host.File, at int64) error {
	g.vector[0] = g.buffer
	_, err := host.WriteFull(f, g.vector[:], at)
	g.vector[0] = nil
	return err
}

func (g *payload) add(cursor Cursor, m *Message) {
	if len(g.sizes) == 0 {
		g.first = cursor
	}
	before := len(g.buffer)
	g.buffer = message.AppendRecord(g.buffer, cursor, m.Payload)
	g.times = append(g.times, m.Time)
	g.sizes = append(g.sizes, int64(len(g.buffer)-before))
}

// grow makes room for so many bytes more, and for a filler behind them. What is not kept comes from the host's memory, so that
// large groups do not need fresh memory each.
func (p *Partition) grow(g *payload, bytes int64) {
	need := len(g.buffer) + int(bytes+p.config.PadBytes+message.HeaderBytes)
	if need <= cap(g.buffer) {
		return
	}
	var larger []byte
	if size := max(need, 2*cap(g.buffer)); size <= keptBufferBytes {
		larger = make([]byte, size)
	} else {
		larger = p.h.Memory().Get(size)
	}
	n := copy(larger, g.buffer)
	g.drop(p.h.Memory())
	g.buffer = larger[:n]
}

// drop gives a buffer back that is not kept.
func (g *payload) drop(memory host.Memory) {
	if cap(g.buffer) > keptBufferBytes {
		memory.Put(g.buffer)
		g.buffer = nil
	}
}

func (g *payload) reset(memory host.Memory) {
	g.drop(memory)
	g.buffer, g.times, g.sizes = g.buffer[:0], g.times[:0], g.sizes[:0]
	g.told, g.lone, g.within, g.roll = nil, outcome{}, false, false
}

// outcome is what the appenders of a group wait for. It is guarded by the partition's mutex until it is decided.
type outcome struct {
	gate    host.Gate // nil: nobody waits, since the only appender commits
	tried   bool      // the commit has begun
	decided bool
	err     error
}

func (o *outcome) wait() error {
	if o.gate != nil && !o.gate.Wait() {
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, host.ErrStopping)
	}
	return o.err
}

func (o *outcome) decide(err error) {
	if !o.decided {
		o.decided, o.err = true, err
		if o.gate != nil {
			o.gate.Open()
		}
	}
}

// join gives an appender that waits for a task to commit the outcome of the group that it is in. The group is open and locked.
func (p *Partition) join(g *payload) *outcome {
	if g.told == nil {
		g.told = &outcome{gate: p.group.NewGate()}
		p.mutex.Lock()
		p.undecided = append(p.undecided, g.told)
		p.mutex.Unlock()
	}
	return g.told
}

// answer is what appenders are told of a group that was not stored for sure. The mutex is held.
func (p *Partition) answer(o *outcome, err error) error {
	if o.tried {
		return fmt.Errorf("partition %s: %w: %w", p.place.Name, ErrOutcomeUnknown, err)
	}
	if p.state == closed {
		return fmt.Errorf("partition %s: %w", p.place.Name, ErrClosed)
	}
	return fmt.Errorf("partition %s: %w: %w", p.place.Name, ErrFailed, err)
}

// commit stores one group. It runs in the task whose turn it is, and in one at a time.
func (p *Partition) commit(g *payload) error {
	w, err := p.begin(g)
	if err != nil {
		return err
	}
	if err := p.store(g, &w); err != nil {
		p.mutex.Lock()
		p.busySince = 0
		if !g.within {
			g.told.tried = false
		}
		p.mutex.Unlock()
		p.fail(err)
		return err
	}
	return nil
}

// writing is a commit under way.
type writing struct {
	segment *segment // that is open, or nil
	end     Cursor   // of the partition
	covered int64    // bytes of the open segment's log that a checkpoint covers
	at      time.Duration
}

// begin notes that a commit is under way, unless the partition was given up: what was promised not to be stored must not be.
func (p *Partition) begin(g *payload) (writing, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if g.told.decided || p.state == failed {
		return writing{}, ErrFailed
	}
	if g.told.gate == nil {
		p.undecided = append(p.undecided, g.told)
	}
	g.told.tried = len(g.sizes) > 0
	p.busySince = max(p.h.Elapsed(), 1)
	w := writing{segment: p.active(), end: endOf(p.segments), at: p.busySince}
	if w.segment != nil {
		w.covered = w.segment.covered.bytes
	}
	return w, nil
}

// settle tells a group's appenders, unless its commit did, and empties it. It returns what a lone one is told.
func (p *Partition) settle(g *payload, err error) error {
	if err != nil || g.told.gate != nil {
		p.mutex.Lock()
		if err != nil {
			err = p.answer(g.told, err)
		}
		p.tell(g.told, err)
		p.mutex.Unlock()
	}
	err = g.told.err
	g.reset(p.h.Memory())
	return err
}

// tell decides an outcome. The mutex is held.
func (p *Partition) tell(o *outcome, err error) {
	o.decide(err)
	for i, each := range p.undecided {
		if each == o {
			p.undecided = append(p.undecided[:i], p.undecided[i+1:]...)
			break
		}
	}
}

// store writes a group at the end of the log, and makes it visible.
func (p *Partition) store(g *payload, w *writing) error {
	s, err := p.segmentFor(g, w)
	if err != nil {
		return err
	}
	if len(g.sizes) == 0 {
		p.done(g)
		return nil
	}
	f, err := p.openLog(s)
	if err != nil {
		return fmt.Errorf("open log %d: %w", s.base, err)
	}
	dirty := false
	defer func() { f.ReleaseAs(dirty) }()
	next := g.first + Cursor(len(g.sizes))
	if pad := paddingFor(s.bytes+int64(len(g.buffer)), p.config.PadBytes); pad > 0 && p.pads(s.bytes+int64(len(g.buffer))-w.covered) {
		g.buffer = message.AppendFiller(g.buffer, next, int(pad))
	}
	end := s.bytes + int64(len(g.buffer))
	g.within = true
	if err := g.write(f, s.bytes); err != nil {
		g.within = !errors.Is(err, host.ErrNoSpace) || !takeBack(f, s.bytes)
		return fmt.Errorf("write %d bytes at %d of log %d: %w", end-s.bytes, s.bytes, s.base, err)
	}
	dirty = true
	p.h.Probe().Mark(host.Event{Name: PointWritten, A: int64(next), B: end - s.bytes})
	if p.durable() {
		p.zeroAhead(f, end, end-s.bytes)
		if err := f.Sync(); err != nil {
			return fmt.Errorf("sync log %d: %w", s.base, err)
		}
		dirty = false
		p.h.Probe().Mark(host.Event{Name: PointSynced, A: int64(next)})
	} else if p.config.MappedAppends {
		p.allocateAhead(f, end, end-s.bytes)
	}
	p.publish(s, g, end)
	p.h.Probe().Mark(host.Event{Name: PointAcknowledged, A: int64(next)})
	return nil
}

// pads reports whether a group ends a sector, if so many bytes of the log behind the last checkpoint end with it: where a sync
// follows, and in mode never where a checkpoint is due. It is of what is durable that no later write may touch the sector.
func (p *Partition) pads(behind int64) bool {
	return p.config.Sync != SyncNever || behind >= p.checkpointDue()
}

// openLog opens the log of the segment that takes appends, which often is open.
func (p *Partition) openLog(s *segment) (*openfiles.Handle, error) {
	if p.log != nil && p.logBase == s.base && p.log.Reopen() {
		return p.log, nil
	}
	f, err := p.file(s.base, logSuffix)
	if err == nil && p.config.MappedAppends && !p.durable() && p.config.Committer == ByAppender { // else a disk that hangs must hold up nobody
		host.WriteThroughMemory(f.File)
	}
	p.log, p.logBase = f, s.base
	return f, err
}

// takeBack cuts off what is written of a group for which there was not enough room, durably, and reports whether it could:
// a full disk is no reason to leave appenders in doubt. Zeros ahead go with it, and give their room back.
func takeBack(f host.File, size int64) bool {
	return f.Truncate(size) == nil && f.Sync() == nil
}

// syncBase makes durable what of a log is written, in the modes in which commits do not. Several tasks call it. Only one of
// them is told of a failure by the file: the others, who come later, are told by this one.
func (p *Partition) syncBase(base Cursor) error {
	p.syncing.Lock()
	defer p.syncing.Unlock()
	if p.syncFailed != nil {
		return p.syncFailed
	}
	f, err := p.file(base, logSuffix)
	if err != nil {
		return fmt.Errorf("open log %d: %w", base, err)
	}
	defer f.Release()
	f.SetDirty(false) // what is written meanwhile says so again
	if err := f.Sync(); err != nil {
		p.syncFailed = fmt.Errorf("sync log %d: %w", base, err)
	}
	return p.syncFailed
}

// publish makes a group visible that is as durable as the mode says.
func (p *Partition) publish(s *segment, g *payload, end int64) {
	outOfOrder := Cursor(-1)
	p.mutex.Lock()
	invariant.Check(s == p.active() && s.next == g.first, "a group follows the one before it")
	position := s.bytes
	for i, size := range g.sizes {
		if s.add(position, size, g.times[i], p.config.IndexBytes) {
			outOfOrder = s.next - 1
		}
		position += size
	}
	s.bytes = end
	s.peak = max(s.peak, s.newest)
	p.visible = s.next
	p.unsynced = !p.durable()
	p.wakeWaiting()
	p.wakeSettler()
	p.doneLocked(g)
	p.mutex.Unlock()
	if outOfOrder >= 0 {
		p.h.Probe().Mark(host.Event{Name: PointOutOfOrder, A: int64(outOfOrder)})
	}
}

// done ends a commit that has stored what it was to. A lone appender hears of it when its commit returns.
func (p *Partition) done(g *payload) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.doneLocked(g)
}

func (p *Partition) doneLocked(g *payload) {
	p.busySince = 0
	if g.told.gate == nil {
		p.tell(g.told, nil)
	}
}

// segmentFor returns the segment that takes the group, which may be a new one.
func (p *Partition) segmentFor(g *payload, w *writing) (*segment, error) {
	s := w.segment
	if s != nil && !s.empty() && (g.roll || p.full(s, int64(len(g.buffer)), w.at)) {
		if err := p.finish(s); err != nil {
			return nil, err
		}
		s = nil
	}
	if s != nil {
		return s, nil
	}
	w.covered = 0
	p.awaitSettled()
	return p.create(w.end)
}

// full reports whether a segment may not take so many bytes more at this time.
func (p *Partition) full(s *segment, bytes int64, at time.Duration) bool {
	bytes += 2*p.config.PadBytes + message.HeaderBytes
	return s.bytes+bytes > p.config.SegmentBytes || at-s.began >= p.config.SegmentAge ||
		int64(len(s.index))+p.config.itemsOf(bytes) > int64(p.config.IndexItemsMax) || p.h.Probe().Perhaps(PointSealNow)
}

// create makes the log of a new segment. Its name is durable before anything in it is acknowledged.
func (p *Partition) create(base Cursor) (*segment, error) {
	key := openfiles.Key{Dir: p.place.Name, Name: fileName(base, logSuffix)}
	f, err := p.place.Files.Open(key, func() (host.File, error) { return p.place.Dir.Create(key.Name) })
	if err != nil {
		return nil, fmt.Errorf("create log %d: %w", base, err)
	}
	f.Release()
	if err := p.place.Dir.SyncDir(); err != nil {
		return nil, fmt.Errorf("sync directory after log %d was created: %w", base, err)
	}
	p.zeroed = 0
	s := &segment{base: base, next: base, began: p.h.Elapsed()}
	p.mutex.Lock()
	if n := len(p.segments); n > 0 {
		s.peak = p.segments[n-1].peak
	}
	p.segments = append(p.segments[:len(p.segments):len(p.segments)], s)
	p.wakeSettler() // for the one before
	p.mutex.Unlock()
	p.h.Probe().Mark(host.Event{Name: PointCreated, A: int64(base)})
	return s, nil
}

// roll has the open segment sealed and an empty one made, since retention only removes what is sealed. It does not wait.
func (p *Partition) roll() {
	commits, err := p.committer()
	if err != nil {
		return
	}
	g, ok := commits.Enter()
	if !ok {
		return // something is being written: it rolls by itself, or next time
	}
	g.roll = true
	p.join(g) // appenders may, too
	commits.Leave(1)
}

// Sync makes durable what was written so far, in the mode interval. Its owner calls it at intervals.
func (p *Partition) Sync() {
	p.mutex.Lock()
	s := p.active()
	if p.state != open || !p.unsynced || s == nil {
		p.mutex.Unlock()
		return
	}
	base := s.base
	p.unsynced = false
	p.mutex.Unlock()
	if err := p.syncBase(base); err != nil {
		p.fail(err)
		return
	}
	p.h.Probe().Mark(host.Event{Name: PointSyncAtOnce, A: int64(base)})
}

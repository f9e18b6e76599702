package bookie

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/lastmark"
	"lakebed/engine/bookkeeper/bookie/ledgertable"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/record"
)

// Points of the scrubber. A is the pass.
const (
	PointScrubBegun   host.Point = "bookie.scrub-begun"   // B logs are to be read
	PointScrubPassed  host.Point = "bookie.scrub-passed"  // B bytes were read
	PointScrubYielded host.Point = "bookie.scrub-yielded" // it waited for readers or for a flush
	// PointScrubFound: rot. A is the log, or 0 for another file, B the offset. Extra is its length and what it is, see Flaw.
	PointScrubFound host.Point = "bookie.scrub-found"
	// PointScrubUnreadable: the same for bytes that could not be read, which may be a passing trouble.
	PointScrubUnreadable host.Point = "bookie.scrub-unreadable"
)

// ScrubConfig holds the scrubber's settings.
type ScrubConfig struct {
	Period         time.Duration // between passes, localScrubPeriod; zero: there is no scrubber
	FirstAfter     time.Duration // the first pass begins so long after the start, whose readers and writers come first
	BytesPerSecond int64
	YieldMax       time.Duration // how long one read gives way to readers and flushes
	FlawsMax       int           // remembered; those beyond are counted
	Log            host.LogBound // on the lines that tell of flaws
}

// DefaultScrubConfig returns the settings for a real disk: a terabyte in three days.
func DefaultScrubConfig() ScrubConfig {
	return ScrubConfig{
		Period: 24 * time.Hour, FirstAfter: 10 * time.Minute, BytesPerSecond: 4 << 20, YieldMax: 250 * time.Millisecond,
		FlawsMax: 1000, Log: host.DefaultLogBound(),
	}
}

// Validate reports the first setting that cannot work.
func (c ScrubConfig) Validate() error {
	if c.Period < 0 || c.FirstAfter < 0 || c.YieldMax < 0 {
		return fmt.Errorf("scrub period %v, first after %v, yield %v: must not be negative", c.Period, c.FirstAfter, c.YieldMax)
	}
	if c.Period == 0 {
		return nil
	}
	if c.BytesPerSecond < 1 || c.FlawsMax < 1 {
		return fmt.Errorf("scrub of %d bytes a second that remembers %d flaws: must be positive", c.BytesPerSecond, c.FlawsMax)
	}
	return c.Log.Validate()
}

// scrubber slowly reads what nobody may ask for in years, so that rot is found while other replicas are whole.
type scrubber struct {
	store    *Store
	config   ScrubConfig
	tasks    host.Group
	random   *rand.Rand
	verifier *entrylog.Verifier
	log      *host.LogLimit
	quiet    host.Cond // readers and flushes have ended

	// Owned by the scrubber's task.
	file   string        // that is being read
	read   int64         // bytes in this pass
	debt   time.Duration // that the rate asks for and was not slept yet
	list   []Flaw        // in the FlawFile
	listed bool          // that is known to be so

	// Guarded by the store's mutex.
	waiting bool               // for quiet
	extent  ledgertable.Extent // of the table, as the last checkpoint left it
	flaws   flawList
	passes  int64 // whole ones
}

// startScrubber starts the scrubber's task, if there is to be one.
func (s *Store) startScrubber(g host.Group) {
	c := &s.scrub
	if s.config.Scrub.Period == 0 {
		return
	}
	c.store, c.config, c.tasks = s, s.config.Scrub, g.New("scrub")
	c.random, c.log = s.h.Rand("scrub"), host.NewLogLimit(s.h, s.config.Scrub.Log)
	c.quiet = c.tasks.NewCond(s.mutex)
	c.flaws.most = c.config.FlawsMax
	c.verifier = s.logs.NewVerifier(s.keep, c.leave, c.found)
	c.tasks.Go("scrub", c.run)
}

// end stops the scrubber, in the middle of a file if need be.
func (c *scrubber) end() {
	if c.tasks == nil {
		return
	}
	c.tasks.Stop()
	c.tasks.Wait()
	c.log.End()
}

func (c *scrubber) run() {
	for wait := c.config.FirstAfter; c.tasks.Sleep(wait) && c.pass(); {
		wait = c.config.Period
	}
}

// pass reads everything once, from any log on: one that is restarted often would never come to the last ones otherwise. False:
// the bookie stops.
func (c *scrubber) pass() bool {
	ids := c.store.logs.Settled()
	c.read = 0
	number := c.begin()
	c.store.h.Probe().Mark(host.Event{Name: PointScrubBegun, A: number, B: int64(len(ids))})
	first := 0
	if len(ids) > 0 {
		first = c.random.IntN(len(ids))
	}
	for i := range ids {
		id := ids[(first+i)%len(ids)]
		if !c.verify(entrylog.FileName(id), func() error { return c.verifier.Verify(id) }) {
			return false
		}
	}
	if !c.verify(c.tableName(), c.verifyTable) || !c.verify(lastmark.FileName, c.verifyMark) {
		return false
	}
	c.finish()
	c.store.h.Probe().Mark(host.Event{Name: PointScrubPassed, A: number, B: c.read})
	return true
}

func (c *scrubber) begin() int64 {
	c.store.mutex.Lock()
	defer c.store.mutex.Unlock()
	c.flaws.beginPass()
	return c.passes + 1
}

// finish counts a pass once its list is on disk.
func (c *scrubber) finish() {
	c.store.mutex.Lock()
	c.flaws.endPass()
	c.store.mutex.Unlock()
	c.keepList()
	c.store.mutex.Lock()
	defer c.store.mutex.Unlock()
	c.passes++
}

// verify has one file read.
func (c *scrubber) verify(file string, read func() error) bool {
	if file == "" {
		return true
	}
	c.file = file
	c.store.mutex.Lock()
	err := c.store.usable()
	c.store.mutex.Unlock()
	if err != nil || read() != nil {
		return false
	}
	c.store.mutex.Lock()
	defer c.store.mutex.Unlock()
	c.flaws.endFile(file)
	return true
}

func (c *scrubber) tableName() string {
	c.store.mutex.Lock()
	defer c.store.mutex.Unlock()
	return c.extent.Name
}

// tellExtent tells the scrubber how far the ledger table goes.
func (s *Store) tellExtent(e ledgertable.Extent) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.scrub.extent = e
}

// verifyTable reads the ledger table as the last checkpoint left it. A snapshot may have replaced it meanwhile.
func (c *scrubber) verifyTable() error {
	c.store.mutex.Lock()
	extent := c.extent
	c.store.mutex.Unlock()
	file, err := c.store.ledgerDir.Open(extent.Name)
	if errors.Is(err, host.ErrNotExist) {
		return nil
	}
	if err != nil {
		c.found(entrylog.Flaw{Part: entrylog.PartHeader, Ledger: entrylog.NoLedger, Entry: ledger.NoEntry, Cause: err})
		return nil
	}
	defer file.Close()
	return entrylog.VerifyRecords(file, extent.Header, extent.Bytes, c.leave, c.found)
}

func (c *scrubber) verifyMark() error {
	if err := c.leave(2 * record.Align); err != nil {
		return err
	}
	c.store.mark.Verify(func(slot int64, err error) {
		c.found(entrylog.Flaw{
			Part: entrylog.PartHeader, Offset: slot * record.Align, Bytes: record.Align,
			Ledger: entrylog.NoLedger, Entry: ledger.NoEntry, Cause: err,
		})
	})
	return nil
}

// found remembers a flaw and tells of it.
func (c *scrubber) found(f entrylog.Flaw) {
	flaw := Flaw{
		File: c.file, Part: f.Part, Offset: f.Offset, Bytes: f.Bytes, Ledger: f.Ledger, Entry: f.Entry,
		Rot: f.IsRot(), Message: f.Cause.Error(),
	}
	c.store.mutex.Lock()
	c.flaws.add(flaw)
	c.store.mutex.Unlock()
	point, message := PointScrubUnreadable, "scrubber cannot read a part of a file"
	if flaw.Rot {
		point, message = PointScrubFound, "scrubber found rot"
	}
	c.log.Log(host.Error, message, host.F("file", flaw.File), host.F("part", string(flaw.Part)), host.F("offset", flaw.Offset),
		host.F("bytes", flaw.Bytes), host.F("ledger", int64(flaw.Ledger)), host.F("entry", int64(flaw.Entry)), host.F("error", f.Cause))
	c.store.h.Probe().Mark(host.Event{
		Name: point, A: int64(f.Log), B: f.Offset, Extra: fmt.Sprintf("%d bytes of %s %s", f.Bytes, flaw.Part, flaw.File),
	})
}

// leaveUnit is how much time is saved up before the scrubber sleeps: reads of a few bytes are not worth a timer each.
const leaveUnit = 5 * time.Millisecond

// leave keeps to the rate, and gives way to those who wait for the disk. It is asked before each read.
func (c *scrubber) leave(bytes int64) error {
	c.read += bytes
	c.debt += time.Duration(float64(bytes) / float64(c.config.BytesPerSecond) * float64(time.Second))
	if c.debt < leaveUnit {
		if c.tasks.Stopping() {
			return host.ErrStopping
		}
		return nil
	}
	sleep := c.debt
	c.debt = 0
	if !c.tasks.Sleep(sleep) || !c.yield() {
		return host.ErrStopping
	}
	return nil
}

// yield waits while entries are read or flushed, within YieldMax. False: the bookie stops.
func (c *scrubber) yield() bool {
	s := c.store
	s.mutex.Lock()
	defer s.mutex.Unlock()
	until := s.h.Elapsed() + c.config.YieldMax
	yielded := false
	for s.readers > 0 || s.flushing != nil {
		left := until - s.h.Elapsed()
		if left <= 0 {
			break
		}
		if !yielded {
			yielded = true
			s.h.Probe().Mark(host.Event{Name: PointScrubYielded, A: c.passes + 1})
		}
		c.waiting = true
		if c.quiet.WaitFor(left) == host.Stopping {
			return false
		}
	}
	c.waiting = false
	return true
}

// quieter lets a scrubber go on that gave way. The store's mutex is held.
func (c *scrubber) quieter() {
	if c.waiting {
		c.waiting = false
		c.quiet.Signal()
	}
}

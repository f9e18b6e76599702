package campaign

import (
	"fmt"
	"sync"
	"time"

	"lakebed/trial"
)

// tally adds up answers as they come in, from all workers.
type tally struct {
	mutex    sync.Mutex
	header   Header
	watcher  func(Progress) // nil: none
	start    time.Time
	summary  Summary
	hashes   map[uint64]struct{}
	groups   map[groupKey]*Group
	executed executed
	cpu      time.Duration
	early    []string // why the campaign stopped before its end, if it did
}

type groupKey struct {
	kind      Kind
	checker   string
	signature string
}

// executed is all that workers did, also what counts for no seed: second runs and canaries. Speed is told from it.
type executed struct {
	events    int64
	simulated time.Duration
	faults    int64
	crashes   int64
}

func newTally(h Header, watcher func(Progress)) *tally {
	t := &tally{header: h, watcher: watcher, start: time.Now(), hashes: map[uint64]struct{}{}, groups: map[groupKey]*Group{}}
	s := &t.summary
	s.Faults, s.Marks, s.Answers = map[string]int64{}, map[string]int64{}, map[string]int64{}
	s.Scenarios, s.Schedulers, s.Verdicts = map[string]int64{}, map[string]int64{}, map[string]int64{}
	s.Canaries, s.Failures, s.Notes, s.MarksMissing = []Canary{}, []Group{}, []string{}, []string{}
	for _, name := range h.Canaries {
		s.Canaries = append(s.Canaries, Canary{Scenario: name})
	}
	return t
}

// sweep counts one of the campaign's seeds. If it failed, it tells the group of its failure and that it is the nth there.
func (t *tally) sweep(r *trial.Result) (failed groupKey, nth int64) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.execute(r)
	s := &t.summary
	s.Seeds++
	s.Events += r.Events
	s.ClientOperations += r.Operations
	s.simulated += r.Simulated
	s.Scenarios[r.Scenario]++
	if r.Scheduler != "" { // a case of an older build has none
		s.Schedulers[r.Scheduler]++
	}
	s.Verdicts[string(r.Verdict)]++
	merge(s.Faults, r.Effects)
	merge(s.Marks, r.Marks)
	merge(s.Answers, r.Answers)
	t.hashes[r.Hash] = struct{}{}
	if r.Failed() {
		f := failureOf(r)
		failed, nth = f.group(), t.record(f).Count
	}
	t.watch()
	return failed, nth
}

func merge(into, from map[string]int64) {
	for name, count := range from {
		into[name] += count
	}
}

func (t *tally) execute(r *trial.Result) {
	t.executed.events += r.Events
	t.executed.simulated += r.Simulated
	t.executed.faults += deliberate(r.Effects)
	t.executed.crashes += crashes(r.Effects)
}

// again compares the second run of a seed with its first. It returns the signature of the failure if they differ.
func (t *tally) again(j job, r *trial.Result) (signature string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.execute(r)
	if j.replay == 0 {
		t.summary.DeterminismChecked++ // a seed, however often it runs
	}
	g := t.groups[j.failed] // nil: the first run did not fail
	if g != nil {
		g.Replays++
	}
	if fingerprintOf(r) == j.first {
		return ""
	}
	if g != nil {
		g.Flaky++
	}
	t.summary.Nondeterministic++
	f := nondeterminismOf(j, r)
	t.record(f)
	t.watch()
	return f.signature
}

// diverged keeps where two runs of a seed part. The seed that the group shows is the best to read.
func (t *tally) diverged(j job, text string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	g := t.groups[groupKey{kind: Nondeterminism, signature: j.signature}]
	if g.Divergence == "" || g.Seed == j.Seed {
		g.Divergence = fmt.Sprintf("seed %d of %s: %s", j.Seed, j.Scenario, text)
	}
}

// canary counts a trial that should fail. Only a violation counts: that is what the checkers are there for.
func (t *tally) canary(r *trial.Result) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.execute(r)
	for i := range t.summary.Canaries {
		c := &t.summary.Canaries[i]
		if c.Scenario != r.Scenario {
			continue
		}
		c.Seeds++
		if r.Verdict == trial.Violation {
			c.Caught++
		}
	}
}

// lose counts a job that its worker did not survive. It is a failure whatever it ran for.
func (t *tally) lose(l *loss) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if l.job.Purpose == sweep {
		t.summary.Seeds++
		t.summary.Scenarios[l.job.Scenario]++
		t.summary.Verdicts[string(l.kind)]++
	}
	t.record(l.failure())
	t.watch()
}

func (t *tally) record(f failure) *Group {
	key := f.group()
	g := t.groups[key]
	if g == nil {
		g = &Group{}
		t.groups[key] = g
	}
	g.add(f, t.header.Defect)
	t.summary.Violations++
	return g
}

func (t *tally) watch() {
	if t.watcher == nil {
		return
	}
	t.watcher(Progress{
		Seeds: t.summary.Seeds, SeedsMax: t.header.Shard.share(t.header.Seeds), Violations: t.summary.Violations,
		Elapsed: time.Since(t.start), TimeMax: t.header.Time,
	})
}

// spent adds the processor time of a worker that has ended.
func (t *tally) spent(cpu time.Duration) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.cpu += cpu
}

// stopped says why the campaign ends before its time.
func (t *tally) stopped(format string, args ...any) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.early = append(t.early, fmt.Sprintf(format, args...))
}

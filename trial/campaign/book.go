package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// book is what a campaign knows: its tally, what was run, and what is to be run because of it.
type book struct {
	mutex       sync.Mutex // lines are counted and written in one order
	header      Header
	mix         mix
	tally       *tally
	done        map[uint64]struct{} // seeds
	canaries    map[jobKey]struct{}
	due         map[jobKey]job // second runs and bisections that are not answered yet
	divergences int
	begin       time.Time
	log         *logFile // nil: none is kept
}

// jobKey names a job among those of a campaign that are under way: no seed has two of one purpose at a time.
type jobKey struct {
	purpose  purpose
	scenario string
	seed     uint64
}

func newBook(h Header, t *tally) *book {
	return &book{
		header: h, mix: h.mix(), tally: t, begin: time.Now(),
		done: map[uint64]struct{}{}, canaries: map[jobKey]struct{}{}, due: map[jobKey]job{},
	}
}

// enter counts an answer that was given now and keeps it. It returns the jobs that follow from it.
func (b *book) enter(l line) ([]job, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	l.Elapsed = time.Since(b.begin)
	follow, err := b.count(&l)
	if err != nil {
		return nil, err
	}
	if b.log != nil {
		err = b.log.append(&l)
	}
	return follow, err
}

// count is where all lines go, those of now and those that were read.
func (b *book) count(l *line) (follow []job, err error) {
	key := jobKey{purpose(l.Kind), l.Scenario, l.Seed}
	switch key.purpose {
	case sweep:
		follow, err = b.countSweep(l)
	case canary:
		err = b.countCanary(key, l)
	case again, divergence:
		asked, ok := b.due[key]
		if !ok {
			return nil, fmt.Errorf("nothing asks for %s of seed %d of %s", l.Kind, l.Seed, l.Scenario)
		}
		delete(b.due, key)
		follow, err = b.countFollowing(asked, l)
	default:
		return nil, fmt.Errorf("a line of kind %q", l.Kind)
	}
	for _, j := range follow {
		b.due[jobKey{j.Purpose, j.Scenario, j.Seed}] = j
	}
	return follow, err
}

// countSweep counts one of the campaign's seeds. A new kind of failure runs again more often than an old one.
func (b *book) countSweep(l *line) ([]job, error) {
	offset := l.Seed - b.header.FirstSeed
	switch _, twice := b.done[l.Seed]; {
	case twice:
		return nil, fmt.Errorf("seed %d stands twice", l.Seed)
	case !b.header.Shard.has(offset) || b.header.Seeds > 0 && offset >= uint64(b.header.Seeds):
		return nil, fmt.Errorf("seed %d is none of shard %s", l.Seed, b.header.Shard)
	case b.mix.of(l.Seed).Name != l.Scenario:
		return nil, fmt.Errorf("seed %d runs %s and not %s", l.Seed, b.mix.of(l.Seed).Name, l.Scenario)
	}
	b.done[l.Seed] = struct{}{}
	if l.lost() {
		b.tally.lose(l.loss())
		return nil, nil
	}
	r, err := l.result()
	if err != nil {
		return nil, err
	}
	failed, nth := b.tally.sweep(r)
	j := job{Purpose: again, Scenario: l.Scenario, Seed: l.Seed, Defect: b.header.Defect, first: fingerprintOf(r), failed: failed}
	switch {
	case nth == 1:
		j.more = replaysOfNewMax - 1
	case nth > 0 && nth <= twiceFailuresMax || b.header.runsTwice(l.Seed):
	default:
		return nil, nil
	}
	return []job{j}, nil
}

func (b *book) countCanary(key jobKey, l *line) error {
	if _, twice := b.canaries[key]; twice || !slices.Contains(b.header.Canaries, l.Scenario) || !b.header.hasCanary(l.Seed) {
		return fmt.Errorf("trial %d of canary %s is none of shard %s, or stands twice", l.Seed, l.Scenario, b.header.Shard)
	}
	b.canaries[key] = struct{}{}
	if l.lost() {
		b.tally.lose(l.loss())
		return nil
	}
	r, err := l.result()
	if err == nil {
		b.tally.canary(r)
	}
	return err
}

// hasCanary reports whether the shard runs the canaries with this seed.
func (h *Header) hasCanary(seed uint64) bool {
	offset := seed - h.FirstSeed
	return offset < uint64(h.CanarySeeds) && h.Shard.has(offset)
}

// countFollowing counts the answer to a job that another answer gave rise to.
func (b *book) countFollowing(asked job, l *line) ([]job, error) {
	switch {
	case l.lost():
		b.tally.lose(l.loss())
		return nil, nil
	case asked.Purpose == divergence:
		b.tally.diverged(asked, l.Text)
		return nil, nil
	}
	r, err := l.result()
	if err != nil {
		return nil, err
	}
	if different := b.tally.again(asked, r); different != "" {
		if b.divergences++; b.divergences > divergencesMax {
			return nil, nil
		}
		return []job{{Purpose: divergence, Scenario: asked.Scenario, Seed: asked.Seed, Defect: asked.Defect, signature: different}}, nil
	}
	if asked.more == 0 {
		return nil, nil
	}
	asked.more, asked.replay = asked.more-1, asked.replay+1
	return []job{asked}, nil
}

// unanswered are the jobs that answers asked for and that were not answered, in one order.
func (b *book) unanswered() []job {
	var jobs []job
	for _, j := range b.due {
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(a, b job) int {
		return cmp.Or(cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Purpose, b.Purpose))
	})
	return jobs
}

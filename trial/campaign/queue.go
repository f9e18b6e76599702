package campaign

import (
	"slices"
	"sync"
	"time"
)

// queue hands jobs out to workers, in batches, and knows when the last one is answered.
type queue struct {
	mutex       sync.Mutex
	change      *sync.Cond
	fresh       source
	follow      []job // jobs that answers gave rise to, and those that a lost worker did not get to
	outstanding int   // handed out and not settled
	workers     int
	ended       bool
}

func newQueue(fresh source, workers int) *queue {
	q := &queue{fresh: fresh, workers: max(workers, 1)}
	q.change = sync.NewCond(&q.mutex)
	return q
}

// take waits for jobs that this worker may run. None: there will not be any more.
func (q *queue) take(worker int64) []job {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for !q.ended {
		if batch := q.batch(worker); len(batch) > 0 {
			q.outstanding += len(batch)
			return batch
		}
		// Answers that are still out may ask for more, and what is left in follow waits for another worker: it stays
		// there until that one has taken it.
		if q.outstanding == 0 && len(q.follow) == 0 {
			return nil
		}
		q.change.Wait()
	}
	return nil
}

func (q *queue) batch(worker int64) []job {
	var batch []job
	kept := q.follow[:0]
	for _, j := range q.follow {
		if len(batch) < batchMax && (j.avoid != worker || q.workers == 1) {
			batch = append(batch, j)
		} else {
			kept = append(kept, j)
		}
	}
	q.follow = kept
	size := q.fresh.batchSize(q.workers)
	for len(batch) < size {
		j, ok := q.fresh.next()
		if !ok {
			break
		}
		batch = append(batch, j)
	}
	return batch
}

// settle takes note of an answer and of the jobs that follow from it.
func (q *queue) settle(follow ...job) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.outstanding--
	q.follow = append(q.follow, follow...)
	q.change.Broadcast()
}

// giveBack returns jobs that were handed out and not run.
func (q *queue) giveBack(jobs []job) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.outstanding -= len(jobs)
	q.follow = append(q.follow, jobs...)
	q.change.Broadcast()
}

// end hands out nothing more.
func (q *queue) end() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.ended = true
	q.change.Broadcast()
}

// source yields the jobs that the options ask for: the canaries, then seed after seed.
type source struct {
	mix      mix
	defect   string
	canaries []job
	seed     uint64 // the next one
	given    int64
	most     int64     // zero: no bound
	deadline time.Time // zero: none
}

func newSource(o Options, m mix, start time.Time) source {
	s := source{mix: m, defect: o.Defect, seed: o.Seed, most: o.Seeds}
	if o.Time > 0 {
		s.deadline = start.Add(o.Time)
	}
	for _, scenario := range o.Catalogue.canaries() {
		for i := range o.CanarySeeds {
			s.canaries = append(s.canaries, job{Purpose: canary, Scenario: scenario.Name, Seed: o.Seed + uint64(i), Defect: o.Defect})
		}
	}
	slices.Reverse(s.canaries) // they are taken from the end
	return s
}

func (s *source) next() (job, bool) {
	if last := len(s.canaries) - 1; last >= 0 {
		j := s.canaries[last]
		s.canaries = s.canaries[:last]
		return j, true
	}
	if s.most > 0 && s.given >= s.most || !s.deadline.IsZero() && !time.Now().Before(s.deadline) {
		return job{}, false
	}
	j := job{
		Purpose: sweep, Scenario: s.mix.of(s.seed).Name, Seed: s.seed, Defect: s.defect,
		twice: s.given%twiceEvery == 0,
	}
	s.seed++
	s.given++
	return j, true
}

// batchSize gets smaller towards the end, so that no worker is left with a full batch while others have none.
func (s *source) batchSize(workers int) int {
	if s.most == 0 {
		return batchMax
	}
	share := (s.most - s.given) / int64(2*workers)
	return int(min(max(share, 1), batchMax))
}

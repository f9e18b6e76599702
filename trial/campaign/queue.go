package campaign

import (
	"maps"
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

func newQueue(b *book, workers int) *queue {
	q := &queue{fresh: newSource(b), follow: b.unanswered(), workers: max(workers, 1)}
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
		// Where there are not enough processes, the one that ran the seed first is the one to avoid.
		avoid := j.avoid[:min(len(j.avoid), q.workers-1)]
		if len(batch) < batchMax && !slices.Contains(avoid, worker) {
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
	header   Header
	mix      mix
	canaries []job
	done     map[uint64]struct{} // seeds that were run before this process began; nil: none
	offset   uint64              // of the next seed from the first one
	most     uint64              // the offset at which to end; zero: no bound
	deadline time.Time           // zero: none
}

// newSource yields what the book lacks.
func newSource(b *book) source {
	h := b.header
	s := source{header: h, mix: b.mix, done: maps.Clone(b.done), offset: uint64(h.Shard.Index - 1), most: uint64(h.Seeds)}
	if h.Time > 0 {
		s.deadline = b.begin.Add(h.Time)
	}
	for _, name := range h.Canaries {
		for i := range uint64(h.CanarySeeds) {
			j := job{Purpose: canary, Scenario: name, Seed: h.FirstSeed + i, Defect: h.Defect}
			if _, done := b.canaries[jobKey{canary, name, j.Seed}]; !done && h.hasCanary(j.Seed) {
				s.canaries = append(s.canaries, j)
			}
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
	for s.most == 0 || s.offset < s.most {
		if !s.deadline.IsZero() && !time.Now().Before(s.deadline) {
			break
		}
		seed := s.header.FirstSeed + s.offset
		s.offset += uint64(s.header.Shard.Of)
		if _, done := s.done[seed]; !done {
			return job{Purpose: sweep, Scenario: s.mix.of(seed).Name, Seed: seed, Defect: s.header.Defect}, true
		}
	}
	return job{}, false
}

// batchSize gets smaller towards the end, so that no worker is left with a full batch while others have none.
func (s *source) batchSize(workers int) int {
	if s.most == 0 {
		return batchMax
	}
	left := (s.most - min(s.offset, s.most)) / uint64(s.header.Shard.Of)
	return int(min(max(left/uint64(2*workers), 1), batchMax))
}

package sim

import "time"

// Policy says which of the tasks that can run goes next.
type Policy uint8

const (
	// Random picks uniformly among the tasks that can run, and orders events of one instant at random.
	Random Policy = iota
	// FIFO takes tasks in the order in which they became runnable: the tamest schedule, for shrinking.
	FIFO
	// PCT gives tasks random priorities and always runs the highest; at PCTDepth random steps the running task falls
	// behind all others. It starves a task for long, which uniform picks hardly ever do.
	PCT
)

func (p Policy) String() string {
	switch p {
	case FIFO:
		return "fifo"
	case PCT:
		return "pct"
	}
	return "random"
}

const unset = -1

// timer is an event to come: it wakes a task or makes a call. A task embeds the one it needs; no event allocates.
type timer struct {
	index int // in the heap; unset: not set
	task  *task
	call  func()
}

type slot struct {
	at    time.Duration
	order uint64
	timer *timer
}

func (a *slot) before(b *slot) bool { return a.at < b.at || a.at == b.at && a.order < b.order }

// scheduler holds what happens next: timers in a heap by (time, tie-break), and the tasks that can run now.
type scheduler struct {
	heap  []slot // four children a node: fewer cache lines touched than with two
	ready []*task
	first int // ready[:first] is taken already; only FIFO moves it
	dice  dice
	count uint64 // tie-break under FIFO

	policy   Policy
	changes  []int64 // PCT: the steps at which the running task falls back, ascending
	steps    int64
	fallback uint64 // PCT: priority of the last task that fell back, counting down
}

func newScheduler(c *Config) scheduler {
	s := scheduler{policy: c.Policy, dice: newDice(c.Seed, "scheduler"), fallback: 1 << 32}
	if c.Policy == PCT {
		s.drawChanges(c)
	}
	return s
}

func (s *scheduler) drawChanges(c *Config) {
	steps := c.PCTSteps
	if steps <= 0 {
		steps = 100_000
	}
	for range c.PCTDepth {
		at := s.dice.below(steps)
		i := len(s.changes)
		s.changes = append(s.changes, at)
		for ; i > 0 && s.changes[i-1] > at; i-- {
			s.changes[i] = s.changes[i-1]
		}
		s.changes[i] = at
	}
}

func (s *scheduler) pending() bool              { return len(s.heap) > 0 }
func (s *scheduler) nextTime() time.Duration    { return s.heap[0].at }
func (s *scheduler) due(now time.Duration) bool { return len(s.heap) > 0 && s.heap[0].at <= now }
func (s *scheduler) runnable() bool             { return len(s.ready) > s.first }

// set puts t into the heap, or moves it if it is there.
func (s *scheduler) set(t *timer, at time.Duration) {
	s.unset(t)
	order := s.count
	if s.policy == FIFO {
		s.count++
	} else {
		order = s.dice.uint64()
	}
	s.heap = append(s.heap, slot{})
	s.up(len(s.heap)-1, slot{at: at, order: order, timer: t})
}

// unset takes t out of the heap if it is there.
func (s *scheduler) unset(t *timer) {
	i := t.index
	if i == unset {
		return
	}
	t.index = unset
	end := len(s.heap) - 1
	moved := s.heap[end]
	s.heap[end] = slot{}
	s.heap = s.heap[:end]
	switch {
	case i == end:
	case i > 0 && moved.before(&s.heap[(i-1)/4]):
		s.up(i, moved)
	default:
		s.down(i, moved)
	}
}

func (s *scheduler) pop() *timer {
	t := s.heap[0].timer
	s.unset(t)
	return t
}

// up places x at or above the hole i.
func (s *scheduler) up(i int, x slot) {
	for i > 0 {
		parent := (i - 1) / 4
		if !x.before(&s.heap[parent]) {
			break
		}
		s.place(i, s.heap[parent])
		i = parent
	}
	s.place(i, x)
}

// down places x at or below the hole i.
func (s *scheduler) down(i int, x slot) {
	for {
		least := s.leastChild(i)
		if least < 0 || !s.heap[least].before(&x) {
			break
		}
		s.place(i, s.heap[least])
		i = least
	}
	s.place(i, x)
}

func (s *scheduler) leastChild(i int) int {
	child := 4*i + 1
	if child >= len(s.heap) {
		return -1
	}
	least := child
	for child++; child < min(4*i+5, len(s.heap)); child++ {
		if s.heap[child].before(&s.heap[least]) {
			least = child
		}
	}
	return least
}

func (s *scheduler) place(i int, x slot) {
	s.heap[i] = x
	x.timer.index = i
}

// enqueue makes t one of the tasks that can run.
func (s *scheduler) enqueue(t *task) {
	if s.policy == PCT && t.priority == 0 {
		t.priority = s.dice.uint64() | 1<<63
	}
	s.ready = append(s.ready, t)
}

// pick removes and returns the task that goes next.
func (s *scheduler) pick() *task {
	s.steps++
	switch s.policy {
	case FIFO:
		return s.pickFirst()
	case PCT:
		return s.pickHighest()
	}
	if len(s.ready) == 1 {
		return s.take(0)
	}
	return s.take(int(s.dice.below(int64(len(s.ready)))))
}

// take removes ready[i] and fills the gap with the last one: order means nothing to a random pick.
func (s *scheduler) take(i int) *task {
	t, end := s.ready[i], len(s.ready)-1
	s.ready[i] = s.ready[end]
	s.ready[end] = nil
	s.ready = s.ready[:end]
	return t
}

func (s *scheduler) pickFirst() *task {
	t := s.ready[s.first]
	s.ready[s.first] = nil
	s.first++
	if s.first == len(s.ready) {
		s.ready, s.first = s.ready[:0], 0
	} else if s.first >= 1024 && 2*s.first >= len(s.ready) {
		s.ready, s.first = append(s.ready[:0], s.ready[s.first:]...), 0 // keep a queue that never empties from growing
	}
	return t
}

func (s *scheduler) pickHighest() *task {
	highest := 0
	for i, t := range s.ready {
		if t.priority > s.ready[highest].priority {
			highest = i
		}
	}
	t := s.take(highest)
	for len(s.changes) > 0 && s.steps > s.changes[0] {
		s.changes = s.changes[1:]
		s.demote(t)
	}
	return t
}

// demote puts t behind all others. A task that yields is demoted too: it says that it waits for somebody, and at the
// highest priority it would spin for ever.
func (s *scheduler) demote(t *task) {
	if s.policy == PCT {
		s.fallback--
		t.priority = s.fallback
	}
}

// withdraw takes out the runnable tasks that match, in order, and passes them on.
func (s *scheduler) withdraw(match func(*task) bool, to func(*task)) {
	kept := s.ready[:0]
	for _, t := range s.ready[s.first:] {
		if match(t) {
			to(t)
		} else {
			kept = append(kept, t)
		}
	}
	clear(s.ready[len(kept):])
	s.ready, s.first = kept, 0
}

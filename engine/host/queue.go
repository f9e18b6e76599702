package host

// Queue hands items from many tasks to one, in batches: a taker pays for one wake-up however many items came. Bounded;
// the bound is the caller's.
type Queue[T any] struct {
	mutex Mutex
	some  Cond // the taker waits for items
	room  Cond // putters wait for room
	items []T
	limit int
	ended bool
}

// NewQueue makes a queue of at most limit items. Its waiters wake when g stops.
func NewQueue[T any](h Host, g Group, name string, limit int) *Queue[T] {
	m := h.NewMutex(name)
	return &Queue[T]{mutex: m, some: g.NewCond(m), room: g.NewCond(m), limit: max(limit, 1)}
}

// Put adds an item, waiting for room. False: the group stops or the queue was ended, and the item was not taken.
func (q *Queue[T]) Put(item T) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for len(q.items) >= q.limit && !q.ended {
		if !q.room.Wait() {
			return false
		}
	}
	return q.put(item)
}

// Offer adds an item if there is room, and never waits.
func (q *Queue[T]) Offer(item T) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.items) >= q.limit {
		return false
	}
	return q.put(item)
}

// OfferEach is Offer of count items at once, for one lock and one wake-up. All are added in order, or none.
func (q *Queue[T]) OfferEach(count int, item func(i int) T) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.ended || len(q.items)+count > q.limit {
		return false
	}
	for i := range count {
		q.put(item(i))
	}
	return true
}

func (q *Queue[T]) put(item T) bool {
	if q.ended {
		return false
	}
	q.items = append(q.items, item)
	if len(q.items) == 1 {
		q.some.Signal() // a taker that is busy looks again by itself
	}
	return true
}

// Take waits for at least one item and returns all there are, in order. It appends to into[:0], which it keeps for
// nothing: two slices alternate between taker and queue without allocation. False: ended and empty, or stopping.
func (q *Queue[T]) Take(into []T) ([]T, bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for len(q.items) == 0 {
		if q.ended || !q.some.Wait() {
			return into[:0], false
		}
	}
	taken := q.items
	clear(into)
	q.items = into[:0]
	q.room.Broadcast()
	return taken, true
}

// Len is the number of items waiting.
func (q *Queue[T]) Len() int {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return len(q.items)
}

// End refuses further items; Take still hands out what is there.
func (q *Queue[T]) End() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.ended = true
	q.some.Broadcast()
	q.room.Broadcast()
}

package pool

import "time"

// line is requests in the order in which they came.
type line struct {
	parked []parked
	first  int // those before it have left
}

func (l *line) push(w parked) { l.parked = append(l.parked, w) }

func (l *line) count() int { return len(l.parked) - l.first }

// peek appends the first requests to into, count at most.
func (l *line) peek(into []parked, count int) []parked {
	return append(into, l.parked[l.first:l.first+min(count, l.count())]...)
}

// leave takes the first requests out. What has left makes room from time to time, so that a line that is never empty does
// not grow for ever.
func (l *line) leave(count int) {
	clear(l.parked[l.first : l.first+count])
	l.first += count
	if l.count() == 0 {
		l.parked, l.first = nil, 0 // a rare state: the memory of a long line is not kept for it
		return
	}
	if l.first > len(l.parked)/2 {
		left := copy(l.parked, l.parked[l.first:])
		clear(l.parked[left:])
		l.parked, l.first = l.parked[:left], 0
	}
}

// deadline is when a request has waited for too long, in a line that last moved at a time. A lent add waits for its timeout
// since then: while the line moves the bookie is not to blame for how many wait. Others wait for as long as they last.
func (w *parked) deadline(moved time.Duration) time.Duration {
	if w.loan == nil {
		return w.offered + w.timeout
	}
	return max(w.offered, moved) + w.timeout
}

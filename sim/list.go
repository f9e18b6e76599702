package sim

// seat is a task's place in one list. A task waits for one thing at a time, so it carries its seats with it and
// waiting allocates nothing.
type seat struct {
	list       *list
	next, prev *seat
	task       *task
}

// list is a queue of waiting tasks in order of arrival.
type list struct {
	first, last *seat
}

func (l *list) empty() bool { return l.first == nil }

func (l *list) push(s *seat) {
	s.list, s.prev, s.next = l, l.last, nil
	if l.last == nil {
		l.first = s
	} else {
		l.last.next = s
	}
	l.last = s
}

// remove takes s out of whatever list it is in.
func (s *seat) remove() {
	l := s.list
	if l == nil {
		return
	}
	if s.prev == nil {
		l.first = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		l.last = s.prev
	} else {
		s.next.prev = s.prev
	}
	s.list, s.next, s.prev = nil, nil, nil
}

// wakeAll wakes every task in the list, first come first.
func (l *list) wakeAll(why woke) {
	for l.first != nil {
		l.first.task.wake(why)
	}
}

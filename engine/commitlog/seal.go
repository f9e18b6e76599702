package commitlog

import "lakebed/engine/commitlog/message"

// seal waits until no later write touches a sector in which confirmed bytes lie, and returns how far that is so: what a checkpoint
// calls durable, a torn write must not take. In the modes that sync what they acknowledge, and at intervals, every group ends with
// a blank, and nothing is to be waited for. In mode never a group ends where its last record does, which is what makes a
// small append cheap, and the sector is filled here.
func (s *Store) seal() (int64, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	need := s.confirmed
	if s.sealed >= need {
		return s.sealed, nil
	}
	s.sealing = true
	s.moved.Broadcast() // a group that waits for the checkpoint goes on, since the one with the blank comes behind it
	s.mutex.Unlock()
	s.askBlank()
	s.mutex.Lock()
	for s.failed == nil && s.sealed < need && s.moved.Wait() {
	}
	s.sealing = false
	switch {
	case s.sealed >= need:
		return s.sealed, nil
	case s.failed != nil:
		return 0, s.failed
	}
	return 0, ErrStopped
}

// askBlank has the group that is open end with a blank, or makes one of nothing but that.
func (s *Store) askBlank() {
	g, ok := s.commits.Enter()
	if !ok {
		return // it is full, and has one; or nothing is written any more
	}
	if len(g.runs) > 0 {
		g.blank, s.blank = true, true
		s.commits.Withdraw()
		return
	}
	to := s.padded(s.tail)
	if s.blank || to == s.tail { // that of the group which was open last is there, or comes
		s.commits.Withdraw()
		return
	}
	g.begin(s.tail)
	g.bytes = message.AppendBlank(g.bytes, s.tail, to-s.tail)
	g.begin(to) // for who may still join
	s.tail, s.blank = to, true
	g.end, g.stored, g.blank = to, s.stored, true
	s.commits.Leave(int64(len(g.bytes)))
}

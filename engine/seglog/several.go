package seglog

// several calls f with each number below n, in as many tasks as UpkeepTasks allows, and returns when all calls have. What opens
// and closes partitions waits for syncs most of the time, and a disk takes many of these together.
func (s *Store) several(n int, f func(i int)) {
	next := s.h.NewCounter("seglog-upkeep")
	work := func() {
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			f(int(i))
		}
	}
	helpers := s.parent.New("seglog-upkeep")
	for range min(n, s.config.UpkeepTasks) - 1 {
		helpers.Go("seglog-upkeep", work)
	}
	work()
	helpers.Wait()
}

// openMembers opens partitions, and returns what failed, one error each at most.
func (s *Store) openMembers(members []*member) []error {
	failures := make([]error, len(members))
	places, known := make([]listed, len(members)), listings{}
	for i, m := range members {
		places[i], failures[i] = known.of(m)
	}
	s.several(len(members), func(i int) {
		if failures[i] == nil {
			failures[i] = s.openMember(members[i], places[i])
		}
	})
	return failures
}

// closeLogs closes all partitions.
func (s *Store) closeLogs() []error {
	var all []opened
	for _, v := range s.volumes {
		for _, m := range s.membersOf(v) {
			if m.log != nil {
				all = append(all, m)
			}
		}
	}
	failures := make([]error, len(all))
	s.several(len(all), func(i int) { failures[i] = all[i].log.Close() })
	return failures
}

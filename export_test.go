package lakebed

// EndMetadata stops the metadata server, and leaves everything else as it is.
func (l *Local) EndMetadata() error { return l.metadata.end() }

// Slots is how many calls are under way, those that were left behind included.
func (s *Store) Slots() int { return len(s.calls) + len(s.waits) }

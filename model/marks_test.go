package model

import (
	"slices"
	"testing"
)

// TestMarksNameWhatWasNeverReached: a declared state is missing until somebody reaches it, here or in a merged set.
func TestMarksNameWhatWasNeverReached(t *testing.T) {
	m := NewMarks("torn tail", "disk full", "limbo")
	m.Hit("disk full")
	m.Hit("surprise")
	m.Add("limbo", 0)
	if got := m.Missing(); !slices.Equal(got, []string{"limbo", "torn tail"}) {
		t.Errorf("missing %q", got)
	}
	other := NewMarks("torn tail", "failover")
	other.Add("torn tail", 3)
	other.Hit("disk full")
	m.Merge(other)
	if got := m.Missing(); !slices.Equal(got, []string{"failover", "limbo"}) {
		t.Errorf("missing after the merge %q", got)
	}
	if m.Count("disk full") != 2 || m.Count("torn tail") != 3 || m.Count("limbo") != 0 || other.Count("disk full") != 1 {
		t.Errorf("counts %d, %d, %d; merged set %d", m.Count("disk full"), m.Count("torn tail"), m.Count("limbo"),
			other.Count("disk full"))
	}
	if got := m.Names(); !slices.Equal(got, []string{"disk full", "failover", "limbo", "surprise", "torn tail"}) {
		t.Errorf("names %q", got)
	}
}

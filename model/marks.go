package model

import (
	"slices"

	"lakebed/internal/invariant"
)

// Marks counts how often named rare states were reached. A campaign declares the states it exists for; one that was
// never reached means that the campaign proved less than it seems to.
type Marks struct {
	counts map[string]uint64
	wanted map[string]bool
}

// NewMarks declares the states that must be reached.
func NewMarks(wanted ...string) *Marks {
	m := &Marks{counts: map[string]uint64{}, wanted: map[string]bool{}}
	m.Want(wanted...)
	return m
}

// Want declares more states that must be reached.
func (m *Marks) Want(names ...string) {
	for _, name := range names {
		invariant.Check(name != "", "a mark has a name")
		m.wanted[name] = true
	}
}

// Hit counts one visit of a state, declared or not.
func (m *Marks) Hit(name string) { m.Add(name, 1) }

// Add counts n visits of a state.
func (m *Marks) Add(name string, n uint64) {
	invariant.Check(name != "", "a mark has a name")
	if n > 0 {
		m.counts[name] += n
	}
}

// Count is how often the state was reached.
func (m *Marks) Count(name string) uint64 { return m.counts[name] }

// Merge adds the counts and the declarations of other, which is not changed. Order of merging does not matter.
func (m *Marks) Merge(other *Marks) {
	for name := range other.wanted {
		m.wanted[name] = true
	}
	for name, n := range other.counts {
		m.counts[name] += n
	}
}

// Names lists all states declared or reached, sorted.
func (m *Marks) Names() []string {
	names := m.Missing()
	for name := range m.counts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Missing lists the declared states that were never reached, sorted.
func (m *Marks) Missing() []string {
	var missing []string
	for name := range m.wanted {
		if m.counts[name] == 0 {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}

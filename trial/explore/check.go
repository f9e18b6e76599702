package explore

import (
	"fmt"

	"lakebed/engine/bookkeeper/ledger"
)

// The rules' names.
const (
	RuleDivergence = "divergence"
	RuleReadable   = "acknowledged entries are readable"
	RuleQuorum     = "committed entries reach the ack quorum"
	RuleOrder      = "order"
	RuleInvariant  = "the cores' invariants hold"
	RuleWaiting    = "no client waits for ever"
)

type broken struct{ rule, what string }

// check holds a state against the rules; nil: none is broken. With Only it looks for that one.
func (c *Config) check(s *state) *broken {
	m := s.current()
	for _, rule := range []func(*state, *ledger.Metadata) *broken{c.checkEnds, c.checkReadable, c.checkQuorum, c.checkCopies} {
		if b := rule(s, m); b != nil && (c.Only == "" || c.Only == b.rule) {
			return b
		}
	}
	return nil
}

func (c *Config) checkReadable(s *state, m *ledger.Metadata) *broken {
	for e := range ledger.EntryID(s.clients[0].acked) + 1 {
		if holders(s, m, e) == 0 {
			return &broken{RuleReadable, fmt.Sprintf("entry %d was acknowledged, and no bookie that the metadata name for it has it", e)}
		}
	}
	return nil
}

// checkQuorum counts copies. Fewer than Qw−Qa+1 bookies of a write set lack an entry if and only if Qa have it, so this
// is also the promise that no recovery can prove it absent.
func (c *Config) checkQuorum(s *state, m *ledger.Metadata) *broken {
	last := ledger.EntryID(s.clients[0].acked)
	if m.State == ledger.Closed {
		last = m.LastEntry
	}
	for e := range last + 1 {
		if n := holders(s, m, e); n < m.Quorum.Ack {
			return &broken{RuleQuorum, fmt.Sprintf("entry %d was acknowledged or is in the closed ledger, and of the bookies that the metadata name for it %d have it", e, n)}
		}
	}
	return nil
}

// checkEnds looks for divergence.
func (c *Config) checkEnds(s *state, m *ledger.Metadata) *broken {
	if err := m.Validate(); err != nil {
		return &broken{RuleOrder, err.Error()}
	}
	if acked := ledger.EntryID(s.clients[0].acked); m.State == ledger.Closed && m.LastEntry < acked {
		return &broken{RuleDivergence, fmt.Sprintf("entry %d was acknowledged, and the ledger is closed at %d", acked, m.LastEntry)}
	}
	closings := 0
	for v, old := range s.store {
		if old.State == ledger.Closed {
			closings++
		}
		if v > 0 && old.State < s.store[v-1].State || closings > 1 {
			return &broken{RuleDivergence, fmt.Sprintf("the metadata went from %v to %v", s.store[v-1].State, old.State)}
		}
	}
	for i := range s.clients {
		k := &s.clients[i]
		if k.succeeded && (m.State != ledger.Closed || ledger.EntryID(k.last) != m.LastEntry || int64(k.length) != m.Length) {
			return &broken{RuleDivergence, fmt.Sprintf("%s reports a ledger closed at %d, stored is %s", name(i), k.last, describe(m))}
		}
	}
	return nil
}

// holders counts the bookies that the metadata name for an entry and that have it.
func holders(s *state, m *ledger.Metadata, e ledger.EntryID) int {
	f, n := m.FragmentOf(e), 0
	set := m.Quorum.WriteSet(e)
	for i := range set.Len() {
		if s.bookies[bookieOf(f.Ensemble[set.At(i)])].copies[e].held {
			n++
		}
	}
	return n
}

// checkCopies compares copies with what the writer appended: each entry brings the ledger to one byte more, and its LAC
// lies before it.
func (c *Config) checkCopies(s *state, _ *ledger.Metadata) *broken {
	for i := range c.Bookies {
		for e, k := range s.bookies[i].copies {
			if k.held && (e >= c.Entries || int(k.length) != e+1 || int(k.lac) >= e) {
				return &broken{RuleOrder, fmt.Sprintf("b%d has entry %d with length %d and LAC %d", i, e, k.length, k.lac)}
			}
		}
	}
	return nil
}

// checkWaiting looks at a state in which nothing is under way.
func (c *Config) checkWaiting(s *state) *broken {
	for i := range s.clients {
		k := &s.clients[i]
		if !k.started || k.ended {
			continue
		}
		if k.recovery != nil || k.closeAsked || k.writer.Pending() > 0 {
			return &broken{RuleWaiting, fmt.Sprintf("%s waits, and nothing is under way", name(i))}
		}
	}
	return nil
}

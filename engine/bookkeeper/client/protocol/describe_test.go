package protocol_test

import (
	"fmt"
	"strings"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
)

// tell says in words what a core asks for and tells. Sends of one entry share a line.
func (s *scenario) tell(core string, effects []protocol.Effect) {
	for i := 0; i < len(effects); i++ {
		e := effects[i]
		key := fmt.Sprint(core, e.First)
		switch e.Kind {
		case protocol.SendAdd, protocol.SendRecoveryRead, protocol.SendFencingLACRead:
			var to []string
			for ; i < len(effects) && sameSend(effects[i], e); i++ {
				to = append(to, string(effects[i].Bookie))
				s.indexes[key+string(effects[i].Bookie)] = effects[i].Index
			}
			i--
			s.say("%s to %s", send(e), strings.Join(to, " "))
		case protocol.WriteMetadata:
			s.calls[core] = e
			s.say("put at version %d%s: %s", e.Version, attempt(e), describe(e.Metadata))
		case protocol.ReadMetadata:
			s.calls[core] = e
			s.say("get metadata%s", attempt(e))
		default:
			s.say("%s", told(e))
		}
	}
}

func sameSend(a, b protocol.Effect) bool {
	a.Index, a.Bookie = b.Index, b.Bookie
	return a.Kind == b.Kind && a.First == b.First && a.Recovery == b.Recovery && a.Resend == b.Resend && a.LAC == b.LAC
}

func send(e protocol.Effect) string {
	switch {
	case e.Kind == protocol.SendFencingLACRead:
		return "fencing last-entry read"
	case e.Kind == protocol.SendRecoveryRead && e.Plain:
		return fmt.Sprintf("read of entry %d, not fencing,", e.First)
	case e.Kind == protocol.SendRecoveryRead:
		return fmt.Sprintf("fencing read of entry %d", e.First)
	}
	kind := "add"
	if e.Recovery {
		kind = "recovery add"
	}
	if e.Resend {
		kind += " again"
	}
	return fmt.Sprintf("%s of entry %d (LAC %d, length %d)", kind, e.First, e.LAC, e.Length)
}

func attempt(e protocol.Effect) string {
	if e.Attempt == 0 {
		return ""
	}
	return fmt.Sprintf(", attempt %d", e.Attempt)
}

func round(e protocol.Effect) string {
	if e.Attempt == 0 {
		return ""
	}
	return fmt.Sprintf(", round %d", e.Attempt)
}

// counted lists the bookies that acknowledged entries.
func counted(e protocol.Effect) string {
	var ids []string
	for i, id := range e.Metadata.Last().Ensemble {
		if e.Set.Has(i) {
			ids = append(ids, string(id))
		}
	}
	return strings.Join(ids, " ")
}

func told(e protocol.Effect) string {
	switch e.Kind {
	case protocol.AskReplacements:
		return fmt.Sprintf("replacements for %v, none of %v%s?", e.Set, e.Exclude, round(e))
	case protocol.EntriesAcked:
		return fmt.Sprintf("acked: entries %d to %d by %s", e.First, e.Last, counted(e))
	case protocol.EntriesFailed:
		how := "outcome unknown"
		if e.Absent {
			how = "absent for ever"
		}
		return fmt.Sprintf("failed: entries %d to %d, %v, %s", e.First, e.Last, e.Failure, how)
	case protocol.EnsembleChanged:
		return fmt.Sprintf("in force, new at %v: %s", e.Set, describe(e.Metadata))
	case protocol.HandleFailed:
		return fmt.Sprintf("handle failed: %v", e.Failure)
	case protocol.Ended:
		if e.Failure == 0 {
			return "ended: " + describe(e.Metadata)
		}
		return fmt.Sprintf("ended: %v", e.Failure)
	}
	return e.Kind.String()
}

func describe(m *ledger.Metadata) string {
	var b strings.Builder
	b.WriteString(m.State.String())
	if m.State == ledger.Closed {
		fmt.Fprintf(&b, " at %d, %d bytes", m.LastEntry, m.Length)
	}
	for _, f := range m.Fragments {
		fmt.Fprintf(&b, " | %d:", f.First)
		for _, id := range f.Ensemble {
			fmt.Fprintf(&b, " %s", id)
		}
	}
	return b.String()
}

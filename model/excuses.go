package model

import "fmt"

// excuses answers what the world did to the bookie before a stamp.
type excuses struct {
	unclean  Stamp // the first unclean stop
	damaged  Stamp // the first damage to anything
	anywhere Stamp // the first damage that may have hit any ledger
	places   map[damagedPlace]Stamp
}

type damagedPlace struct {
	ledger LedgerID
	entry  EntryID // AnyEntry: the whole ledger
}

func newExcuses(h *History) excuses {
	x := excuses{unclean: Never, damaged: Never, anywhere: Never}
	for _, e := range h.Events {
		switch {
		case e.Kind == Crash:
			x.unclean = min(x.unclean, e.At)
		case e.Kind == Damage && e.Ledger == AnyLedger:
			x.damaged = min(x.damaged, e.At)
			x.anywhere = min(x.anywhere, e.At)
		case e.Kind == Damage:
			x.damaged = min(x.damaged, e.At)
			x.addPlace(damagedPlace{e.Ledger, e.Entry}, e.At)
		}
	}
	return x
}

func (x *excuses) addPlace(place damagedPlace, at Stamp) {
	if x.places == nil {
		x.places = map[damagedPlace]Stamp{}
	}
	if before, known := x.places[place]; !known || at < before {
		x.places[place] = at
	}
}

// limbo says whether a bookie may, at this stamp, not know the state of a ledger. Damage to the journal cannot name
// the ledgers it hit, so damage anywhere excuses any.
func (x *excuses) limbo(at Stamp) bool { return x.unclean <= at || x.damaged <= at }

// loss says whether an entry may be unreadable at this stamp. It may never be denied.
func (x *excuses) loss(ledger LedgerID, entry EntryID, at Stamp) bool {
	if x.anywhere <= at {
		return true
	}
	for _, place := range [2]damagedPlace{{ledger, AnyEntry}, {ledger, entry}} {
		if since, damaged := x.places[place]; damaged && since <= at {
			return true
		}
	}
	return false
}

// checkExcuses finds "unknown state" answers of a bookie that has no reason to be in doubt.
func (c *checker) checkExcuses() {
	for i := range c.history.Ops {
		if op := &c.history.Ops[i]; op.Outcome == Limbo && !c.excuses.limbo(op.Return) {
			c.report(CheckerUnexcused, op.Kind.String(), -1, int32(i),
				"the bookie says that it does not know the state of the ledger, but it never stopped uncleanly and "+
					"no damage was declared before")
		}
	}
}

// checkRangeShapes checks what a range answer must look like whatever the ledger holds. An answer may end early:
// at a hole, at a limit, or because a later entry could not be read.
func (c *checker) checkRangeShapes() {
	for i := range c.history.Ops {
		if op := &c.history.Ops[i]; op.Kind != ReadRange || op.Outcome != Found {
			continue
		}
		if rule, because := c.rangeFault(i); rule != "" {
			c.report(CheckerRange, rule, -1, int32(i), because)
		}
	}
}

func (c *checker) rangeFault(i int) (rule, because string) {
	op, items := &c.history.Ops[i], c.history.Items(i)
	if len(items) == 0 {
		return "empty answer", "a positive answer holds at least the first entry"
	}
	if op.MaxCount > 0 && len(items) > int(op.MaxCount) {
		return "too many entries", fmt.Sprintf("it holds %d entries, %d were allowed", len(items), op.MaxCount)
	}
	var bytes int64
	for k, item := range items {
		if want := op.Entry + EntryID(k); item.Entry != want && k == 0 {
			return "wrong start", fmt.Sprintf("it starts with entry %d", item.Entry)
		} else if item.Entry != want {
			return "hole", fmt.Sprintf("entry %d stands where entry %d must", item.Entry, want)
		}
		// The first entry is exempt from the limit: a reader must get past an entry larger than its buffer.
		if bytes += item.Bytes; k > 0 && op.MaxBytes > 0 && bytes > op.MaxBytes {
			return "too many bytes", fmt.Sprintf("its first %d entries have %d bytes, %d were allowed",
				k+1, bytes, op.MaxBytes)
		}
	}
	return "", ""
}

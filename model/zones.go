package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// zone is the time in which a value was certainly the newest: from the first return to the last call among its write
// and its sightings. If the last call is not after the first return, all of them overlap in [last call, first return]
// and the value may have been there for one moment of it. Registers whose values are written once are linearizable
// exactly if certain zones do not overlap and none holds a whole moment zone of another value (Gibbons and Korach,
// SIAM J. Comput. 26(4)).
type zone struct {
	firstReturn, lastCall Stamp
	firstBy, lastBy       int32
}

func newZone(call, ret Stamp, op int32) zone { return zone{ret, call, op, op} }

func (z *zone) widen(call, ret Stamp, op int32) {
	if ret < z.firstReturn {
		z.firstReturn, z.firstBy = ret, op
	}
	if call > z.lastCall {
		z.lastCall, z.lastBy = call, op
	}
}

// zoneCheck is scratch space for the zones of one entry.
type zoneCheck struct {
	byValue         []zone
	certain, moment []zone
}

// checkZones looks for a value that came back after another had replaced it.
func (e *entryCheck) checkZones(until Incarnation, denial int32) bool {
	if len(e.values) < 2 {
		return true // one value and none: checkPresence is exact for that
	}
	e.buildZones(until, denial)
	z := &e.zones
	slices.SortFunc(z.certain, func(a, b zone) int { return cmp.Compare(a.firstReturn, b.firstReturn) })
	for k := 1; k < len(z.certain); k++ {
		if z.certain[k].firstReturn < z.certain[k-1].lastCall {
			return e.reportZones(&z.certain[k-1], &z.certain[k])
		}
	}
	for k := range z.moment {
		m := &z.moment[k]
		n, _ := slices.BinarySearchFunc(z.certain, m.lastCall, func(c zone, at Stamp) int {
			return cmp.Compare(c.firstReturn, at)
		})
		if n > 0 && m.firstReturn < z.certain[n-1].lastCall {
			return e.reportZones(&z.certain[n-1], m)
		}
	}
	return true
}

// buildZones makes the zones of all values that count at an incarnation. The absence of the entry is a value, too: it
// was there first.
func (e *entryCheck) buildZones(until Incarnation, denial int32) {
	z := &e.zones
	z.byValue, z.certain, z.moment = z.byValue[:0], z.certain[:0], z.moment[:0]
	for k := range e.values {
		w := &e.values[k].writes[0]
		z.byValue = append(z.byValue, newZone(w.call, w.end, w.op))
	}
	for k := range e.seen {
		if s := &e.seen[k]; e.counts(s, until) {
			z.byValue[s.value].widen(s.call, s.ret, s.op)
		}
	}
	for k := range e.values {
		v := &e.values[k]
		switch {
		case len(v.writes) > 1:
			// Which write a reader saw is open: only the writes that certainly happened count, each for itself.
			for _, w := range v.writes {
				if w.acked {
					z.add(newZone(w.call, w.end, w.op))
				}
			}
		case v.solid || v.seen && v.seenIn >= until:
			z.add(z.byValue[k])
		}
	}
	if denial != none {
		z.add(zone{math.MinInt64, e.c.history.Ops[denial].Call, none, denial})
	}
}

func (z *zoneCheck) add(one zone) {
	if one.firstReturn < one.lastCall {
		z.certain = append(z.certain, one)
	} else {
		z.moment = append(z.moment, one)
	}
}

func (e *entryCheck) reportZones(a, b *zone) bool {
	if a.firstBy == none {
		e.reportNegative(a.lastBy, b.lastBy)
		return false
	}
	h := e.c.history
	e.c.found.add(CheckerBookie, "overwritten value came back", func() string {
		return fmt.Sprintf("one value of entry %d was there from %s to %s, another from %s to %s: one of them must have "+
			"replaced the other, and cannot have come back", e.entry, h.describe(int(a.firstBy)),
			h.describe(int(a.lastBy)), h.describe(int(b.firstBy)), h.describe(int(b.lastBy)))
	}, operations(a.firstBy, a.lastBy, b.firstBy, b.lastBy)...)
	return false
}

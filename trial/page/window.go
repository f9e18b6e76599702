package page

import (
	"fmt"
	"slices"
	"time"
)

// place chooses the events that go onto the lanes, and gives them their final form. What is in question, faults and the
// lives of nodes are there in any case, as far as the bound allows; the rest is a stretch of time around them.
func (b *builder) place() {
	until := b.Until
	if until == 0 {
		until = b.Course.Ended
	}
	var chosen []*raw
	for _, e := range b.events {
		if e.at <= until && (e.at >= b.From || e.end > b.From) {
			chosen = append(chosen, e)
		}
	}
	kept := b.bounded(chosen)
	b.gaps(chosen, kept)
	rows := map[*raw]int{}
	b.page.Events = make([]Event, 0, len(kept))
	for _, e := range kept {
		if shown, ok := b.shown(e); ok {
			rows[e] = len(b.page.Events)
			b.page.Events = append(b.page.Events, shown)
		}
	}
	for i, e := range b.accusedOps {
		if row, there := rows[e]; there {
			b.page.Accused[i].Event = row
		}
	}
}

// bounded keeps as many events as there may be.
func (b *builder) bounded(chosen []*raw) []*raw {
	if len(chosen) <= b.Limits.EventsMax {
		return chosen
	}
	must := make([]bool, len(chosen))
	first, last, left := -1, -1, b.Limits.EventsMax
	for i, e := range chosen {
		if left > 0 && (e.kind == KindFault || e.kind == KindLife || b.inQuestion(e)) {
			must[i] = true
			left--
		}
		if b.accused[e] {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 { // nothing is accused: what was last is most likely to tell
		first, last = len(chosen)-1, len(chosen)-1
	}
	// A stretch that grows from the accused in both directions, until the bound is reached.
	from, to := first, last
	for i := from; i <= to && left > 0; i++ {
		if !must[i] {
			must[i] = true
			left--
		}
	}
	for left > 0 && (from > 0 || to < len(chosen)-1) {
		if from > 0 {
			from--
			left -= mark(must, from)
		}
		if to < len(chosen)-1 && left > 0 {
			to++
			left -= mark(must, to)
		}
	}
	var kept []*raw
	for i, e := range chosen {
		if must[i] {
			kept = append(kept, e)
		}
	}
	return kept
}

func mark(must []bool, i int) int {
	if must[i] {
		return 0
	}
	must[i] = true
	return 1
}

// gaps says what is left out: by the bound, and by the filter of the command line.
func (b *builder) gaps(chosen, kept []*raw) {
	there := make(map[*raw]bool, len(kept))
	for _, e := range kept {
		there[e] = true
	}
	var gap *Gap
	for _, e := range chosen {
		if there[e] {
			// One that is kept because it is in question does not end a gap; a gap is told as one stretch.
			if !(e.kind == KindFault || e.kind == KindLife || b.inQuestion(e)) {
				gap = nil
			}
			continue
		}
		if gap == nil {
			b.page.LeftOut = append(b.page.LeftOut, Gap{From: int64(e.at)})
			gap = &b.page.LeftOut[len(b.page.LeftOut)-1]
		}
		gap.Count++
		gap.To = int64(e.at)
	}
	for i := range b.page.LeftOut {
		g := &b.page.LeftOut[i]
		g.Command = b.filtered(time.Duration(g.From), time.Duration(g.To)+time.Microsecond)
	}
	if cut := len(b.events) - len(chosen); cut > 0 {
		b.page.LeftOut = append(b.page.LeftOut, Gap{Count: cut, From: 0, To: int64(b.Course.Ended), Command: b.Replay + " --html page.html"})
	}
}

// filtered is the command that shows a stretch of time.
func (b *builder) filtered(from, until time.Duration) string {
	return fmt.Sprintf("%s --html page.html --from %s --until %s", b.Replay, from, until)
}

// shown is an event in its final form. Not ok: its node is none of the world's.
func (b *builder) shown(e *raw) (Event, bool) {
	lane, known := b.lanes[e.node]
	if !known {
		lane = -1
		if e.kind != KindFault {
			return Event{}, false
		}
	}
	peer, known := b.lanes[e.peer]
	if !known {
		peer = -1
	}
	shown := Event{At: int64(e.at), End: int64(e.end), Node: lane, Peer: peer, Kind: e.kind, Text: e.text, Bad: e.bad, Accused: b.accused[e]}
	refs := slices.Clone(e.refs)
	slices.SortStableFunc(refs, func(x, y ref) int { return b.rank(x) - b.rank(y) })
	for _, r := range slices.Compact(refs) {
		if len(shown.Refs) == b.Limits.RefsMax {
			break
		}
		shown.Refs = append(shown.Refs, r.String())
	}
	return shown, true
}

// rank puts first what is in question.
func (b *builder) rank(r ref) int {
	if slices.Contains(b.subjects, r) {
		return 0
	}
	return 1
}

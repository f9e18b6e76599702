package trial

import (
	"fmt"
	"strings"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/host"
	"lakebed/faults"
)

// checkerScrub judges a bookie's scrubber: it finds what rots in a closed entry log with the first whole pass that begins
// later, and cries wolf about nothing. A wound in the middle of a pass so takes two.
const checkerScrub = "scrub"

// scrubWatch follows one bookie by its marks. Which logs are closed it learns from whoever closes and removes them, not from
// the scrubber.
type scrubWatch struct {
	node    string
	closed  map[entrylog.LogID]time.Duration // since when
	settled map[entrylog.LogID]time.Duration // a start came to terms with whatever had rotted before
	ends    map[entrylog.LogID]int64         // of logs that a start found damaged and left as they are: what is behind is no log's
	removed map[entrylog.LogID]time.Duration
	begun   time.Duration // the pass at hand
	found   []foundFlaw   // in it
	missed  []missedWound
	alarms  []string
}

type foundFlaw struct {
	log      entrylog.LogID
	from, to int64
}

type missedWound struct {
	faults.Wound
	log entrylog.LogID
	at  time.Duration
}

func newScrubWatch(node string) *scrubWatch {
	return &scrubWatch{
		node: node, closed: map[entrylog.LogID]time.Duration{}, settled: map[entrylog.LogID]time.Duration{},
		ends: map[entrylog.LogID]int64{}, removed: map[entrylog.LogID]time.Duration{},
	}
}

// see takes in a mark of the bookie.
func (w *scrubWatch) see(now time.Duration, e host.Event, damage func() []faults.Wound) {
	id := entrylog.LogID(e.A)
	switch e.Name {
	case entrylog.PointClosed:
		w.closed[id] = now
	case entrylog.PointRescanned:
		w.rescanned(now, id, e.B, damage())
	case entrylog.PointRemoved, entrylog.PointOrphan:
		delete(w.closed, id)
		w.removed[id] = now
	case bookie.PointScrubBegun:
		w.begun, w.found = now, nil
	case bookie.PointScrubFound, bookie.PointScrubUnreadable:
		w.flaw(id, e, damage())
	case bookie.PointScrubPassed:
		w.passed(now, damage())
	}
}

// rescanned takes in that a start reads a log up to its durable end. The scan ends in a new index, unless it meets damage: then
// the log stays as it is. Bytes behind the end are of a checkpoint that was not finished, or an index that is not believed.
func (w *scrubWatch) rescanned(now time.Duration, id entrylog.LogID, end int64, wounds []faults.Wound) {
	w.settled[id] = now
	if w.wounded(id, end, wounds) {
		w.ends[id] = end
		return
	}
	w.closed[id] = now
	delete(w.ends, id)
}

// flaw takes in what the scrubber found. Bytes that cannot be read need no wound: reads fail for a while, too.
func (w *scrubWatch) flaw(id entrylog.LogID, e host.Event, wounds []faults.Wound) {
	var bytes int64
	var part, file string
	if _, err := fmt.Sscanf(e.Extra, "%d bytes of %s %s", &bytes, &part, &file); err != nil {
		panic(fmt.Sprintf("a scrubber's mark says %q: %v", e.Extra, err)) // the engine and this file disagree
	}
	if id != 0 {
		w.found = append(w.found, foundFlaw{id, e.B, e.B + bytes})
	}
	if e.Name == bookie.PointScrubUnreadable {
		return
	}
	for _, wound := range wounds {
		if wound.Node == w.node && strings.TrimSuffix(wound.Path, host.UnfinishedSuffix) == file {
			return
		}
	}
	w.alarms = append(w.alarms, fmt.Sprintf("%s: %s at %d", w.node, e.Extra, e.B))
}

// passed looks for wounds that the pass should have found.
func (w *scrubWatch) passed(now time.Duration, wounds []faults.Wound) {
	for i, wound := range wounds {
		if wound.Node != w.node || wound.Volume != bookie.LedgerVolume || wound.At >= w.begun {
			continue
		}
		id, isLog := entrylog.ParseFileName(wound.Path)
		closed, known := w.closed[id]
		if !isLog || !known || wound.At <= closed || wound.At <= w.settled[id] || twice(wounds, i) || w.sees(id, wound) {
			continue
		}
		if end, left := w.ends[id]; left && wound.Offset >= end {
			continue
		}
		w.missed = append(w.missed, missedWound{wound, id, now})
	}
}

// wounded reports whether a log was damaged before its end.
func (w *scrubWatch) wounded(id entrylog.LogID, end int64, wounds []faults.Wound) bool {
	for _, wound := range wounds {
		if wound.Node == w.node && wound.Path == entrylog.FileName(id) && wound.Offset < end {
			return true
		}
	}
	return false
}

// twice reports whether another wound is in the same byte: two flips of one bit are none.
func twice(wounds []faults.Wound, i int) bool {
	for k, other := range wounds {
		if k != i && other.Node == wounds[i].Node && other.Path == wounds[i].Path && other.Offset == wounds[i].Offset {
			return true
		}
	}
	return false
}

func (w *scrubWatch) sees(id entrylog.LogID, wound faults.Wound) bool {
	for _, f := range w.found {
		if f.log == id && f.from < wound.Offset+wound.Length && wound.Offset < f.to {
			return true
		}
	}
	return false
}

// judge returns the broken promises. A log that was removed later may have been on its way out.
func (w *scrubWatch) judge() []Finding {
	var findings []Finding
	for _, text := range w.alarms {
		findings = append(findings, Finding{checkerScrub, "the scrubber found rot where nothing was damaged", text})
	}
	for _, m := range w.missed {
		if w.removed[m.log] > m.at {
			continue
		}
		findings = append(findings, Finding{checkerScrub, "the scrubber passed over rot in a closed log", fmt.Sprintf(
			"%s: %d bytes at %d of %s were damaged at %v by %s; the pass that ended at %v did not find them",
			w.node, m.Length, m.Offset, m.Path, m.At, m.ID, m.at)})
		break // the same wound is missed by every pass
	}
	return findings
}

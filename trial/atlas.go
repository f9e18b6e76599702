package trial

import (
	"bytes"
	"io"
	"slices"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/record"
	"lakebed/faults"
	"lakebed/sim/disk"
)

// atlas keeps the allowance per entry (simulation.md 3.4): more bookies may be damaged in a trial than an entry can lose
// copies, as long as no entry loses more than its budget of Qa-1. Fragile bookies may lose everything, so each counts as
// lost for every entry that it could hold. The others may lose records of closed entry logs, and nothing else: whatever
// else goes bad (the journal, a table, the log that is being written) leaves a bookie in doubt about all it has.
type atlas struct {
	budget  int // copies of an entry that may be lost
	fragile map[string]bool
	lost    map[entryKey][]string // the other bookies that lost theirs
}

type entryKey struct {
	ledger ledger.ID
	entry  ledger.EntryID
}

func newAtlas(budget int, fragile map[string]bool) *atlas {
	return &atlas{budget: budget, fragile: fragile, lost: map[entryKey][]string{}}
}

// allowed reports whether a node may lose these entries, whose holders the metadata name.
func (a *atlas) allowed(node string, hit []entryKey, holders func(entryKey) ([]string, bool)) bool {
	for _, key := range hit {
		names, known := holders(key)
		if !known {
			return false
		}
		gone := slices.Clone(a.lost[key])
		for _, name := range append(names, node) {
			if (a.fragile[name] || name == node) && !slices.Contains(gone, name) {
				gone = append(gone, name)
			}
		}
		if len(gone) > a.budget {
			return false
		}
	}
	return len(hit) > 0
}

// lose takes the entries of a node as lost.
func (a *atlas) lose(node string, hit []entryKey) {
	for _, key := range hit {
		if !slices.Contains(a.lost[key], node) {
			a.lost[key] = append(a.lost[key], node)
		}
	}
}

// most is how many bookies that are not fragile have lost the same entry, at most.
func (a *atlas) most() int {
	most := 0
	for _, nodes := range a.lost { // in any order: only the largest counts
		most = max(most, len(nodes))
	}
	return most
}

// entryRecord is the kind of an entry's record in an entry log; see package entrylog.
const entryRecord record.Kind = 2

// entriesAt lists the entries whose records a range of a closed entry log touches, sector by sector. False: the log is
// open, or the range reaches into something that more depends on than single entries.
func entriesAt(d *disk.Disk, w faults.Wound) ([]entryKey, bool) {
	if _, isLog := entrylog.ParseFileName(w.Path); !isLog {
		return nil, false
	}
	f, err := d.Root().Open(w.Path)
	if err != nil {
		return nil, false
	}
	defer f.Close() //nolint:errcheck // it was only read
	size, err := f.Size()
	if err != nil || !endsInIndex(f, size) {
		return nil, false
	}
	from := w.Offset - w.Offset%disk.SectorSize
	to := (w.Offset + w.Length + disk.SectorSize - 1) / disk.SectorSize * disk.SectorSize
	return recordsBetween(f, size, from, to)
}

// endsInIndex reports whether a log was closed: its last block is one of its index.
func endsInIndex(f *disk.File, size int64) bool {
	magic := make([]byte, 4)
	if size < record.Align {
		return false
	}
	_, err := f.ReadAt(magic, size-record.Align)
	return err == nil && bytes.Equal(magic, []byte("LIDX"))
}

// recordsBetween walks the groups of a log. It must meet no damage on its way: what it cannot read it cannot judge.
func recordsBetween(f *disk.File, size, from, to int64) ([]entryKey, bool) {
	var hit []entryKey
	header, err := new(record.Scanner).ReadFileHeader(f, entrylog.Kind())
	if err != nil {
		return nil, false
	}
	s := record.NewScanner(f, header, size)
	for s.Offset() < to {
		view, err := s.Next()
		if err != nil {
			return nil, false // damaged before, or behind the last group
		}
		err = view.Each(func(kind record.Kind, offset int64, body []byte) error {
			end := offset + record.HeaderSize + int64(len(body))
			if offset >= to || end <= from {
				return nil
			}
			id, entry, err := ledger.Key(body)
			if kind != entryRecord || err != nil {
				return io.ErrUnexpectedEOF // a record that tells of others
			}
			hit = append(hit, entryKey{id, entry})
			return nil
		})
		if err != nil {
			return nil, false
		}
		if header := view.Offset; header < to && header+record.GroupHeaderSize > from {
			return nil, false // without its header a group is none
		}
	}
	return hit, true
}

// mayLose has the last word on what is destroyed: neither plan nor aim knows what lies where when it strikes.
func (c *cluster) mayLose(place faults.Wound) bool {
	if !c.drawn.allowance.Damage {
		return false
	}
	if c.drawn.allowance.Fragile[place.Node] {
		return true
	}
	if !c.drawn.allowance.Ask || place.Volume != bookie.LedgerVolume || place.Path == "" {
		return false
	}
	for _, m := range c.bookies {
		if m.node.Name() != place.Node {
			continue
		}
		hit, simple := entriesAt(m.node.Disk(place.Volume).Model(), place)
		if !simple || !c.atlas.allowed(place.Node, hit, c.holdersOf) {
			return false
		}
		c.atlas.lose(place.Node, hit)
		c.marks.Hit(MarkEntryDamaged)
		for _, key := range hit {
			c.lab.Recorder.DamagedEntry(m.address, int64(key.ledger), int64(key.entry))
		}
		return true
	}
	return false
}

// holdersOf names the nodes that the metadata have for an entry: of a ledger that is open, every bookie that a change of
// its ensemble could bring in.
func (c *cluster) holdersOf(key entryKey) ([]string, bool) {
	m, there := c.ledgers[key.ledger]
	if !there {
		return nil, false
	}
	var names []string
	if m.State != ledger.Closed {
		for _, b := range c.bookies {
			names = append(names, b.node.Name())
		}
		return names, true
	}
	ensemble, set := m.FragmentOf(key.entry).Ensemble, m.Quorum.WriteSet(key.entry)
	for i := range set.Len() {
		for _, b := range c.bookies {
			if string(ensemble[set.At(i)]) == b.address {
				names = append(names, b.node.Name())
			}
		}
	}
	return names, true
}

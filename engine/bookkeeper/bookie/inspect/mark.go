package inspect

import (
	"lakebed/engine/bookkeeper/bookie/lastmark"
	"lakebed/engine/host"
	"lakebed/engine/inspection"
	"lakebed/engine/record"
)

const slotBytes = 64

// lookAtMarks reads the mark's slots as the bookie does: the valid one with the greatest counter counts.
func (i *inspector) lookAtMarks() {
	for _, p := range i.marks {
		m := &Mark{}
		i.report.Mark = m
		f, err := p.dir.Open(p.name)
		if err != nil {
			i.report.found(inspection.Problem{Severity: inspection.Damage, Class: Unreadable, File: p.name}, "%v", err)
			continue
		}
		var best uint64
		bad, unreadable := 0, 0
		for slot := range int64(2) {
			s, mark, err := readSlot(f, slot)
			m.Slots = append(m.Slots, s)
			switch {
			case err != nil:
				unreadable++
				i.report.found(inspection.Problem{Severity: inspection.Damage, Class: Unreadable, File: p.name, Offset: slot * record.Align}, "slot %d: %v", slot, err)
			case s.State == "bad":
				bad++
			case s.State == "valid" && s.Counter > best:
				best, i.mark, i.marked = s.Counter, mark, true
			}
		}
		_ = f.Close() // only read
		i.judgeSlots(p, bad, unreadable)
		m.Sequence, m.JournalFile, m.First = i.mark.Journal.Sequence, i.mark.Journal.File, i.mark.Journal.First
		m.TableFile, m.TableSequence = i.mark.Table.File, i.mark.Table.Sequence
	}
	if i.whole && len(i.marks) == 0 && len(i.logs)+len(i.tables) > 0 {
		i.report.found(inspection.Problem{Severity: inspection.Damage, Class: Missing, File: lastmark.FileName}, "there are logs or tables, and no mark")
	}
}

func (i *inspector) judgeSlots(p place, bad, unreadable int) {
	switch {
	case bad == 2:
		i.report.found(inspection.Problem{Severity: inspection.Damage, Class: BadMark, File: p.name}, "both slots are bad: a crash tears one at most")
	case bad == 1 && !i.marked && unreadable == 0:
		i.report.found(inspection.Problem{Severity: inspection.Doubt, Class: BadMark, File: p.name}, "one slot is bad and the other was never written")
	case bad == 1:
		i.report.found(inspection.Problem{Severity: inspection.Doubt, Class: BadMark, File: p.name},
			"one slot is bad: torn in a crash, or rotten; the other one counts")
	}
}

func readSlot(f host.File, slot int64) (Slot, lastmark.Mark, error) {
	size, err := f.Size()
	if err != nil {
		return Slot{State: "unreadable"}, lastmark.Mark{}, err
	}
	if size < slot*record.Align+slotBytes {
		return Slot{State: "empty"}, lastmark.Mark{}, nil
	}
	p := make([]byte, slotBytes)
	if _, err := host.ReadFull(f, p, slot*record.Align); err != nil {
		return Slot{State: "unreadable"}, lastmark.Mark{}, err
	}
	mark, counter, ok := lastmark.Decode(p)
	switch {
	case ok:
		return Slot{State: "valid", Counter: counter}, mark, nil
	case string(p) == string(make([]byte, slotBytes)):
		return Slot{State: "empty"}, mark, nil
	default:
		return Slot{State: "bad"}, mark, nil
	}
}

package ledgers

import (
	"slices"
	"testing"

	"lakebed/engine/bookkeeper/ledger"
)

func names(p Plan) (all []string) {
	for _, c := range p.Writes {
		all = append(all, c.Name())
	}
	for _, c := range p.Reads {
		all = append(all, c.Name())
	}
	return all
}

// TestEveryCellHasANameOfItsOwn, and a thorough run has all that a default one has.
func TestEveryCellHasANameOfItsOwn(t *testing.T) {
	all := names(Options{Thorough: true}.Plan())
	seen := map[string]bool{}
	for _, name := range all {
		if seen[name] {
			t.Errorf("two cells are called %s", name)
		}
		seen[name] = true
	}
	if want := 4*3*2*6 + 3*3*9; len(all) != want {
		t.Errorf("%d cells, want %d", len(all), want)
	}
	usual := names(Options{}.Plan())
	for _, name := range usual {
		if !seen[name] {
			t.Errorf("only a default run has %s", name)
		}
	}
	for _, name := range []string{
		"ledger/write/3-3-2/100B/1000", "ledger/write/3-3-2/16KiB/1", "ledger/write/5-3-2/1KiB/1000", "ledger/write/3-3-3/100B/1000",
		"ledger/write/1-1-1/16KiB/1000", "ledger/write/3-3-2/100B/1000/unsynced", "ledger/write/3-3-2/1KiB/open-75",
		"ledger/read/100B/cached/single/1", "ledger/read/100B/read-ahead/range/10", "ledger/read/100B/cold/batch/500",
	} {
		if !slices.Contains(usual, name) {
			t.Errorf("a default run lacks %s", name)
		}
	}
}

// TestOptionsChooseCells: by name among all of them, with the loads that were asked for.
func TestOptionsChooseCells(t *testing.T) {
	for _, c := range []struct {
		options Options
		want    []string
	}{
		{Options{Only: "write/5-3-2/16KiB/64/unsynced"}, []string{"ledger/write/5-3-2/16KiB/64/unsynced"}},
		{Options{Only: "16KiB/cold/batch/10"}, []string{"ledger/read/16KiB/cold/batch/10", "ledger/read/16KiB/cold/batch/100", "ledger/read/16KiB/cold/batch/100x4"}},
		{Options{Only: "3-3-2/100B/open", Rate: 5000}, []string{"ledger/write/3-3-2/100B/open-5000ps", "ledger/write/3-3-2/100B/open-5000ps/unsynced"}},
		{Options{Only: "1-1-1/1KiB/200", InFlight: 200}, []string{"ledger/write/1-1-1/1KiB/200", "ledger/write/1-1-1/1KiB/200/unsynced"}},
		{Options{Only: "journal/batches"}, nil},
	} {
		if got := names(c.options.Plan()); !slices.Equal(got, c.want) {
			t.Errorf("%+v chose %v, want %v", c.options, got, c.want)
		}
	}
}

// TestCellsThatTakeTurnsAreOfOnePayload, and of one shape where rounds are long; none is lost.
func TestCellsThatTakeTurnsAreOfOnePayload(t *testing.T) {
	cells := Options{Thorough: true}.Plan().Writes
	for _, apart := range []bool{false, true} {
		count := 0
		for _, group := range groupWrites(cells, apart) {
			count += len(group)
			for _, c := range group {
				if c == goalAdd && len(group) > 1 {
					t.Errorf("the cell with a goal takes turns with %d others", len(group)-1)
				}
				if c.PayloadBytes != group[0].PayloadBytes || c.Unsynced != group[0].Unsynced || apart && c.Quorum != group[0].Quorum {
					t.Errorf("apart %t: %s takes turns with %s", apart, c.Name(), group[0].Name())
				}
			}
		}
		if count != len(cells) {
			t.Errorf("apart %t: %d cells in groups, %d before", apart, count, len(cells))
		}
	}
}

// TestAnOpenLoopBringsTheClosedOneThatItsRateComesFrom, once.
func TestAnOpenLoopBringsTheClosedOneThatItsRateComesFrom(t *testing.T) {
	open := []WriteCell{{threeOfTwo, smallPayload, false, Load{Percent: 25}}, {threeOfTwo, smallPayload, false, Load{Percent: 50}}}
	want := WriteCell{threeOfTwo, smallPayload, false, Load{InFlight: inFlightMost}}
	if got := withReferences(nil, open, nil); !slices.Equal(got, []WriteCell{want}) {
		t.Errorf("got %v", got)
	}
	if got := withReferences([]WriteCell{want}, open, nil); !slices.Equal(got, []WriteCell{want}) {
		t.Errorf("got %v", got)
	}
	if got := withReferences(nil, open, []addResult{{cell: want, rounds: at(5)}}); len(got) != 0 {
		t.Errorf("a rate that is known brought %v", got)
	}
	stated := []WriteCell{{threeOfTwo, smallPayload, false, Load{PerSecond: 10}}}
	if got := withReferences(nil, stated, nil); len(got) != 0 {
		t.Errorf("a stated rate brought %v", got)
	}
}

// TestAWalkHandsOutEveryEntryInOrder, from the start again unless it goes once.
func TestAWalkHandsOutEveryEntryInOrder(t *testing.T) {
	w := &walk{at: 7, end: 10}
	for _, want := range []struct {
		first ledger.EntryID
		count int
	}{{7, 2}, {9, 1}, {0, 2}} {
		if first, count := w.take(2); first != want.first || count != want.count {
			t.Errorf("took %d from %d on, want %d from %d", count, first, want.count, want.first)
		}
	}
	w.back(1)
	if first, _ := w.take(1); first != 1 {
		t.Errorf("what was given back comes as %d", first)
	}
	once := &walk{at: 3, end: 4, once: true}
	if first, count := once.take(5); first != 3 || count != 1 {
		t.Errorf("took %d from %d on", count, first)
	}
	if _, count := once.take(5); count != 0 {
		t.Errorf("a walk that is over gave %d more", count)
	}
}

// TestWalksOfSeveralReadersShareAllEntries: each entry has one reader, and a part is walked through again from its start.
func TestWalksOfSeveralReadersShareAllEntries(t *testing.T) {
	for _, once := range []bool{true, false} {
		whole := &walk{at: 5, end: 30, once: once}
		begin := ledger.EntryID(0)
		if once {
			begin = 5
		}
		next := begin
		for i, part := range whole.parts(4) {
			if part.at != next || part.end <= part.at || part.once != once {
				t.Fatalf("part %d of %+v: %+v, want it to start at %d", i, whole, part, next)
			}
			next = part.end
			size := int(part.end - part.at)
			part.take(size)
			if first, count := part.take(1); once && count != 0 || !once && first != part.start {
				t.Errorf("part %d, once %v: behind its end come %d entries from %d on", i, once, count, first)
			}
		}
		if next != whole.end {
			t.Errorf("the last part ends at %d, want %d", next, whole.end)
		}
	}
}

package ledgers

import (
	"math"
	"slices"
	"testing"
	"time"

	"lakebed/reports"
)

// at makes rounds of a second with so many entries each.
func at(entries ...int64) (rounds []round) {
	for _, n := range entries {
		rounds = append(rounds, round{entries: n, elapsed: time.Second, cpu: time.Millisecond})
	}
	return rounds
}

// TestBatchesAreJudgedByTheFasterSinglesOfTheSameRound.
func TestBatchesAreJudgedByTheFasterSinglesOfTheSameRound(t *testing.T) {
	cell := func(way Way, count int) ReadCell {
		return ReadCell{Warmth: Cached, Way: way, Count: count, PayloadBytes: smallPayload}
	}
	l := &lab{reads: []readResult{
		{cell(Batches, 100), at(800, 1600, 2400)},
		{busyBatchCell, at(1600, 1250, 2400)},
		{cell(Singles, 10), at(100, 50, 100)},
		{cell(Ranges, 10), at(50, 200, 200)},
		{cell(Ranges, 100), at(800, 1600, 1200)},
		{ReadCell{Warmth: Cold, Way: Singles, Count: 10, PayloadBytes: smallPayload}, at(9, 9, 9)},
	}}
	ratios, goals := l.judge(figures{1})
	if len(ratios) != 2 || !slices.Equal(ratios[0].Figures[0].Samples, []float64{8, 8, 12}) || !slices.Equal(ratios[1].Figures[0].Samples, []float64{1, 1, 2}) {
		t.Fatalf("ratios %+v", ratios)
	}
	if len(goals) != 3 || !goals[0].Met || goals[1].Met || goals[2].Met {
		t.Errorf("goals %+v", goals)
	}
	if cpu := goals[2].Value; cpu != 0.625 {
		t.Errorf("an entry took %v µs, want 1000 µs by 1600", cpu)
	}
	l.reads = l.reads[2:]
	if ratios, goals := l.judge(figures{1}); len(ratios)+len(goals) != 0 {
		t.Errorf("without batches %+v, %+v were judged", ratios, goals)
	}
}

// TestAddsAreJudgedByTheirTimeOfProcessors, exactly at the bound too, and only the cell with the goal.
func TestAddsAreJudgedByTheirTimeOfProcessors(t *testing.T) {
	for _, c := range []struct {
		entries int64
		met     bool
	}{{250, true}, {249, false}} { // in a millisecond of processors
		other := goalAdd
		other.Unsynced = true
		l := &lab{adds: []addResult{{cell: goalAdd, rounds: at(c.entries)}, {cell: other, rounds: at(1)}}}
		if _, goals := l.judge(figures{1}); len(goals) != 1 || goals[0].Met != c.met {
			t.Errorf("%d entries: %+v", c.entries, goals)
		}
	}
}

// TestACheckpointThatTheMedianMissesCounts.
func TestACheckpointThatTheMedianMissesCounts(t *testing.T) {
	rounds := at(1000, 1000, 1000)
	rounds[1].cpu = 20 * time.Millisecond
	l := &lab{adds: []addResult{{cell: goalAdd, rounds: rounds}}}
	if _, goals := l.judge(figures{1}); len(goals) != 1 || goals[0].Value != 1 || goals[0].Met || goals[0].Why == "" {
		t.Errorf("%+v", goals)
	}
}

// TestRawLinesBesideSeveralGroupsAreOne.
func TestRawLinesBesideSeveralGroupsAreOne(t *testing.T) {
	l := &lab{}
	l.keepRaw([]rawResult{{kind: rawDisk, payload: smallPayload, inFlight: 1, rounds: at(1)}})
	l.keepRaw([]rawResult{{kind: rawDisk, payload: smallPayload, inFlight: 1, rounds: at(2, 3)}, {kind: rawDisk, payload: smallPayload, inFlight: 2, rounds: at(4)}})
	if len(l.raws) != 2 || len(l.raws[0].rounds) != 3 || l.raws[0].rounds[2].entries != 3 {
		t.Errorf("%+v", l.raws)
	}
}

// TestRatiosLeaveOutRoundsInWhichTheOtherDidNothing.
func TestRatiosLeaveOutRoundsInWhichTheOtherDidNothing(t *testing.T) {
	if got := pairedRatios([]float64{4, 5, 6}, []float64{2, 0, 3}); !slices.Equal(got, []float64{2, 2}) {
		t.Errorf("got %v", got)
	}
	if got := pairedRatios([]float64{4, 5}, []float64{2}); !slices.Equal(got, []float64{2}) {
		t.Errorf("a round without a pair gave %v", got)
	}
	if f := (figures{1}).by(figureByDisk, at(5), at(0)); len(f) != 0 {
		t.Errorf("nothing to compare with gave %+v", f)
	}
}

// TestACellIsComparedWithTheRawLineOfItsLoad: with three copies, and with a disk only where it syncs.
func TestACellIsComparedWithTheRawLineOfItsLoad(t *testing.T) {
	lines := []rawResult{
		{kind: rawDisk, payload: smallPayload, inFlight: 64, rounds: at(1)}, {kind: rawLoopback, payload: smallPayload, inFlight: 64, rounds: at(2)},
	}
	for _, c := range []struct {
		cell           WriteCell
		disk, loopback bool
	}{
		{WriteCell{threeOfTwo, smallPayload, false, Load{InFlight: 64}}, true, true},
		{WriteCell{striped, smallPayload, true, Load{InFlight: 64}}, false, true},
		{WriteCell{threeOfTwo, smallPayload, false, Load{InFlight: 1}}, false, false},
		{WriteCell{threeOfTwo, pagePayload, false, Load{InFlight: 64}}, false, false},
		{WriteCell{single, smallPayload, false, Load{InFlight: 64}}, false, false},
	} {
		if disk, loop := roundsOf(lines, rawDisk, c.cell), roundsOf(lines, rawLoopback, c.cell); (disk != nil) != c.disk || (loop != nil) != c.loopback {
			t.Errorf("%s: disk %v, loopback %v", c.cell.Name(), disk, loop)
		}
	}
}

// TestLongRoundsOfLongEntriesAreCut so that they do not fill the disk.
func TestLongRoundsOfLongEntriesAreCut(t *testing.T) {
	if d := shorter(time.Second, 1000, 100); d != time.Second {
		t.Errorf("a small round takes %v", d)
	}
	if d := shorter(time.Second, 2*roundBytesMax/1024, 1024); math.Abs(d.Seconds()-0.5) > 1e-6 {
		t.Errorf("a round of twice the bound takes %v", d)
	}
}

// TestGroupsWithoutCellsAreNotInTheFindings.
func TestGroupsWithoutCellsAreNotInTheFindings(t *testing.T) {
	l := &lab{adds: []addResult{{cell: goalAdd}}} // it was cut off before its first round
	if f := l.findings(); len(f.Groups)+len(f.Goals)+len(f.Plots) != 0 {
		t.Errorf("%+v", f)
	}
	if better := (figures{1}).cpu(at(3)).Better; better != reports.LowerBetter {
		t.Errorf("more time of processors is %s", better)
	}
}

// TestWhatIsJudgedGetsLongerRounds by default, and those that were asked for otherwise.
func TestWhatIsJudgedGetsLongerRounds(t *testing.T) {
	other := goalAdd
	other.PayloadBytes = pagePayload
	usual := Options{}.pace()
	for name, c := range map[string]struct {
		pace pace
		cell string
		want time.Duration
	}{
		"adds":      {usual, goalAdd.Name(), usual.goalRound},
		"batches":   {usual, goalBatchCell.Name(), usual.goalRound},
		"busy":      {usual, busyBatchCell.Name(), usual.goalRound},
		"others":    {usual, other.Name(), usual.closedRound},
		"thorough":  {Options{Thorough: true}.pace(), goalAdd.Name(), usual.closedRound},
		"asked for": {Options{Length: time.Millisecond}.pace(), goalAdd.Name(), usual.closedRound},
	} {
		if got := c.pace.lengthOf(c.cell, usual.closedRound); got != c.want {
			t.Errorf("%s: rounds of %v, want %v", name, got, c.want)
		}
	}
}

package bench

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/host"
	"lakebed/engine/record"
)

// openHere opens a subject in a directory of the test.
func openHere(t *testing.T, kind Subject, dir string) subject {
	t.Helper()
	s, err := openSubject(kind, dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pairsOf measures a few short pairs of an arm.
func pairsOf(t *testing.T, arm Arm, s subject, count int) (*pairing, []pair) {
	t.Helper()
	p, err := newPairing(arm, s, newRaw(t, 8<<20), newSource(sourceBytes, 2), 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := p.run(t.Context(), count)
	if err != nil {
		t.Fatal(err)
	}
	return p, pairs
}

// TestTheRawLineWritesTheGroupsOfTheArmBesideIt: the same bytes in as many groups, where the arm comes first, and those
// of the round before where it comes second.
func TestTheRawLineWritesTheGroupsOfTheArmBesideIt(t *testing.T) {
	s := openHere(t, Journal, t.TempDir())
	arm := Arm{Journal, 64, Batches, 1 << 10}
	_, pairs := pairsOf(t, arm, s, 4)
	for i, p := range pairs {
		written := p.arm
		if i%2 == 1 {
			written = pairs[i-1].arm
		}
		if p.raw.bytes != written.groupBytes() || p.raw.groups != len(written.groups) {
			t.Errorf("pair %d: raw wrote %d bytes in %d groups, the arm %d in %d",
				i, p.raw.bytes, p.raw.groups, written.groupBytes(), len(written.groups))
		}
		stored := int64(storedBytes(arm.PayloadBytes) + record.HeaderSize)
		least := p.arm.entries*stored + int64(len(p.arm.groups))*record.GroupHeaderSize
		most := least + int64(len(p.arm.groups))*record.Align
		if bytes := p.arm.groupBytes(); p.arm.entries == 0 || bytes < least || bytes >= most {
			t.Errorf("pair %d: %d entries in %d bytes of groups, want %d to %d", i, p.arm.entries, bytes, least, most)
		}
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// TestEveryEntryThatTheJournalIsCreditedWithIsInItsFiles.
func TestEveryEntryThatTheJournalIsCreditedWithIsInItsFiles(t *testing.T) {
	for _, submission := range []Submission{Batches, Blocked} {
		dir := t.TempDir()
		s := openHere(t, Journal, dir)
		_, pairs := pairsOf(t, Arm{Journal, 16, submission, 100}, s, 2)
		credited, counted := int64(0), int64(0)
		for _, done := range pairs {
			credited += done.arm.entries
			counted += done.arm.latencies.histogram.TotalCount()
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		if found := replayed(t, filepath.Join(dir, string(Journal))); found < credited || credited == 0 || counted != credited {
			t.Errorf("%s: %d entries credited, %d latencies, %d in the files", submission, credited, counted, found)
		}
	}
}

// replayed counts the measured records in a journal's directory.
func replayed(t *testing.T, dir string) (count int64) {
	t.Helper()
	n, err := newNode(dir, 1, bookie.JournalVolume)
	if err != nil {
		t.Fatal(err)
	}
	volume, err := n.Disk(bookie.JournalVolume)
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(n, volume, journal.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.Replay(journal.Mark{}, func(kind record.Kind, body []byte) error {
		if kind != kindMeasured || len(body) != storedBytes(100) {
			t.Errorf("a record of kind %d with %d bytes", kind, len(body))
		}
		count++
		return nil
	})
	if err := n.end(err); err != nil {
		t.Fatal(err)
	}
	return count
}

// TestEveryEntryThatTheBookieIsCreditedWithCanBeRead, and is gone when the arm is over.
func TestEveryEntryThatTheBookieIsCreditedWithCanBeRead(t *testing.T) {
	s := openHere(t, Bookie, t.TempDir()).(*bookieSubject)
	for _, submission := range []Submission{Batches, Blocked} {
		p, pairs := pairsOf(t, Arm{Bookie, 16, submission, 100}, s, 2)
		credited, written := int64(0), int64(0)
		for _, done := range pairs {
			credited += done.arm.entries
		}
		for _, r := range p.runners {
			w := writerOf(r.worker)
			written += int64(w.next)
			last, err := s.store.LastEntry(w.ledger)
			if err != nil || last.Entry != w.next-1 || len(last.Body) != storedBytes(100) {
				t.Fatalf("ledger %d: last entry %d of %d bytes, error %v; %d were written",
					w.ledger, last.Entry, len(last.Body), err, w.next)
			}
			last.Release()
		}
		if credited == 0 || written < credited {
			t.Errorf("%s: %d entries credited, %d written", submission, credited, written)
		}
		if err := s.forget(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.store.LastEntry(writerOf(p.runners[0].worker).ledger); !errors.Is(err, bookie.ErrNoLedger) {
			t.Errorf("after the arm its ledger answers %v", err)
		}
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

func writerOf(w worker) *bookieWriter {
	if b, ok := w.(*batchWorker); ok {
		return &b.bookieWriter
	}
	return &w.(*blockedWorker).bookieWriter
}

// TestAnArmWhoseSubjectFailsIsAnErrorAndNoFigure.
func TestAnArmWhoseSubjectFailsIsAnErrorAndNoFigure(t *testing.T) {
	s := openHere(t, Bookie, t.TempDir()).(*bookieSubject)
	for _, submission := range []Submission{Batches, Blocked} {
		p, err := newPairing(Arm{Bookie, 16, submission, 100}, s, newRaw(t, 1<<20), newSource(sourceBytes, 2), time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range s.ledgers {
			if err := s.store.Delete(id); err != nil { // every add from now on is refused
				t.Fatal(err)
			}
		}
		if pairs, err := p.run(t.Context(), 2); !errors.Is(err, bookie.ErrFenced) {
			t.Errorf("%s: %d pairs, error %v", submission, len(pairs), err)
		}
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// TestAnInterruptEndsAnArmBetweenPairs.
func TestAnInterruptEndsAnArmBetweenPairs(t *testing.T) {
	s := openHere(t, Journal, t.TempDir())
	p, err := newPairing(Arm{Journal, 1, Blocked, 100}, s, newRaw(t, 1<<20), newSource(sourceBytes, 2), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.run(ctx, 1000); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// TestWorkInTheBackgroundIsSeenFromItsStartToItsEnd, and counted.
func TestWorkInTheBackgroundIsSeenFromItsStartToItsEnd(t *testing.T) {
	var o observer
	if !o.busy() {
		t.Error("a journal without a file ahead is not busy")
	}
	for _, step := range []struct {
		name host.Point
		busy bool
	}{
		{journal.PointPrepared, false}, {journal.PointRolled, true}, {journal.PointPrepared, false},
		{bookie.PointSwapped, true}, {bookie.PointCheckpointed, false}, {bookie.PointSlowed, false},
	} {
		o.Mark(host.Event{Name: step.name})
		if o.busy() != step.busy {
			t.Errorf("after %s: busy is %v", step.name, o.busy())
		}
	}
	if got, want := o.background(), (background{Prepared: 2, Checkpoints: 1, Slowed: 1}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

package agenda_test

import (
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/workloads/agenda"
)

// clock is a group in which only time passes, up to its end.
type clock struct {
	host.Group
	at, end time.Duration
}

func (c *clock) Sleep(d time.Duration) bool {
	c.at += d
	return c.at < c.end
}

// done is what a client did: which step, when, and the first number that it drew for it.
type done struct {
	step  int
	at    time.Duration
	drawn uint64
}

func walk(a *agenda.Agenda, client int) (all []done) {
	c := &clock{end: time.Second}
	w := a.Walk(client, 10*time.Millisecond)
	act := w.Single(func() bool {
		all = append(all, done{w.Step(), c.at, w.Uint64()})
		return len(all) < 50
	})
	for w.Next(c) && w.Choose(agenda.Weighted(0, nil), agenda.Weighted(3, act)) {
	}
	return all
}

// TestAStepThatIsKeptComesWhenItCameAnyway: steps that are left out cost their pauses and no numbers; a client of which
// nothing is kept does not even pause; and one ends with its group, or when an action says that it cannot go on.
func TestAStepThatIsKeptComesWhenItCameAnyway(t *testing.T) {
	everything := walk(agenda.New(3), 1)
	if len(everything) != 50 {
		t.Fatalf("%d steps, and the 50th ends it", len(everything))
	}
	few := agenda.New(3)
	few.Keep([]agenda.Op{{Client: 1, Step: 4, Part: 1}, {Client: 1, Step: 9, Part: 1}, {Client: 1, Step: 7, Part: 2}})
	kept := walk(few, 1)
	if len(kept) != 2 || kept[0] != everything[3] || kept[1] != everything[8] {
		t.Errorf("kept %v of %v", kept, everything)
	}
	if others := walk(few, 2); len(others) != 0 || few.Upcoming(2) != 1 {
		t.Errorf("an absent client did %v and came to step %d", others, few.Upcoming(2))
	}
	if n := few.Upcoming(1); n < 50 {
		t.Errorf("the group's end came at step %d", n)
	}
}

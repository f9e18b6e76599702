package agenda_test

import (
	"slices"
	"testing"

	"lakebed/workloads/agenda"
)

// TestAnOperationThatIsLeftOutShiftsNothing: what a part of a step draws depends on its name alone, however much others
// have drawn before; and no two parts draw the same.
func TestAnOperationThatIsLeftOutShiftsNothing(t *testing.T) {
	a := agenda.New(7)
	drawn := map[uint64]agenda.Op{}
	for client := range 3 {
		busy, lazy := a.Stream(client), a.Stream(client)
		for step := 1; step <= 5; step++ {
			for part := range 4 {
				busy.Begin(step, part)
				first := busy.Uint64()
				busy.Perm(step)
				name := agenda.Op{Client: client, Step: step, Part: part}
				if other, taken := drawn[first]; taken {
					t.Fatalf("%s and %s draw the same", name, other)
				}
				drawn[first] = name
				if step == 5 && part == 3 {
					lazy.Begin(step, part)
					if got := lazy.Uint64(); got != first {
						t.Errorf("%s draws %x after others, and %x alone", name, first, got)
					}
				}
			}
		}
	}
	first, second := a.Stream(0), agenda.New(8)
	other := second.Stream(0)
	if first.Uint64() == other.Uint64() {
		t.Error("two seeds draw the same")
	}
}

// TestAnAgendaKeepsWhatItIsTold: only what is kept is done and noted; a client that has nothing to do is absent; steps go
// on counting.
func TestAnAgendaKeepsWhatItIsTold(t *testing.T) {
	a := agenda.New(1)
	a.Note()
	a.Keep([]agenda.Op{{Client: 1, Step: 2, Part: 1}, {Client: 1, Step: 2, Part: 3}})
	if !a.Absent(0) || a.Absent(1) {
		t.Error("a client without steps is there, or one with steps is not")
	}
	for step := 1; step <= 3; step++ {
		if a.Upcoming(1) != step {
			t.Fatalf("upcoming is %d, not %d", a.Upcoming(1), step)
		}
		a.Take(1)
		if a.Wants(1, step) != (step == 2) {
			t.Errorf("step %d: wanted %v", step, a.Wants(1, step))
		}
		for part := 1; part <= 3; part++ {
			a.Does(agenda.Op{Client: 1, Step: step, Part: part})
		}
	}
	want := []agenda.Op{{Client: 1, Step: 2, Part: 1}, {Client: 1, Step: 2, Part: 3}}
	if got := a.Performed(); !slices.Equal(got, want) {
		t.Errorf("performed %v", got)
	}
}

// TestOperationsHaveOneName: the text of an operation is read back, and nothing else is taken for one.
func TestOperationsHaveOneName(t *testing.T) {
	want := agenda.Op{Client: 12, Step: 3, Part: 4}
	text, err := want.MarshalText()
	if err != nil || string(text) != "12/3/4" {
		t.Fatalf("%s, %v", text, err)
	}
	var got agenda.Op
	if err := got.UnmarshalText(text); err != nil || got != want {
		t.Errorf("read %v, %v", got, err)
	}
	for _, text := range []string{"", "1/2", "1/2/0", "1/0/1", "-1/1/1", "1/2/3/4", "01/2/3", "1/2/3 ", "a/b/c"} {
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken for %v", text, got)
		}
	}
}

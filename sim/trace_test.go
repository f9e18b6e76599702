package sim

import (
	"io"
	"strings"
	"testing"
	"time"

	"lakebed/engine/host"
)

func TestEveryPartOfAnEventReachesTheHash(t *testing.T) {
	n, m := &Node{index: 1}, &Node{index: 2}
	plain := record{at: 1, node: n, task: &task{id: 1}, what: actMark, text: "x", a: 1, b: 1}
	variants := []record{plain, plain, plain, plain, plain, plain, plain, plain, plain}
	variants[1].at = 2
	variants[2].node = m
	variants[3].node = nil
	variants[4].task = &task{id: 2}
	variants[5].what = actLog
	variants[6].text = "y"
	variants[7].a = 2
	variants[8].b = 2
	seen := map[uint64]int{}
	for i, r := range variants {
		var tr trace
		tr.add(&r)
		if other, twice := seen[tr.hash]; twice {
			t.Errorf("variants %d and %d have the same hash", i, other)
		}
		seen[tr.hash] = i
	}
}

func TestContentOfWritesAndSendsReachesTheHash(t *testing.T) {
	hash := func(written, sent string) uint64 {
		w := New(Config{Seed: 1})
		serve(t, w, listening)
		start(w, "a", func(h host.Host) {
			writeFile(t, volume(t, h), "f", written)
			check(t, send(dialB(t, h), sent))
		})
		return finish(t, w).Hash
	}
	if a, b, c := hash("x", "x"), hash("y", "x"), hash("x", "y"); a == b || a == c || b == c {
		t.Fatal(a, b, c)
	}
}

func TestEventsAtOneInstantAreCountedAfreshWhenTimeMoves(t *testing.T) {
	w := New(Config{Seed: 1, MaxEventsAtOneInstant: 100})
	start(w, "n", func(h host.Host) {
		for range 1000 {
			h.Root().Sleep(time.Nanosecond)
		}
	})
	finish(t, w)
}

// TestRemarksAreWrittenAndNoEvents: a trial may explain its trace without becoming another trial.
func TestRemarksAreWrittenAndNoEvents(t *testing.T) {
	run := func(written io.Writer, remark bool) Verdict {
		w := New(Config{Seed: 1, Trace: written})
		n := start(w, "n", func(h host.Host) { h.Root().Sleep(time.Second) })
		w.At(time.Millisecond, func() {
			if remark {
				w.Remark(n, "asks for nothing")
			}
		})
		return finish(t, w)
	}
	var whole, sparing strings.Builder
	plain := run(nil, false)
	for _, v := range []Verdict{run(nil, true), run(&whole, true), run(WithoutSteps(&sparing), true)} {
		if v.Hash != plain.Hash || v.Events != plain.Events {
			t.Errorf("hash %x after %d events, want %x after %d", v.Hash, v.Events, plain.Hash, plain.Events)
		}
	}
	const remark = "0.001000000  n          -                            client asks for nothing\n"
	for name, text := range map[string]string{"whole": whole.String(), "sparing": sparing.String()} {
		if !strings.Contains(text, remark) {
			t.Errorf("%s: no remark in\n%s", name, text)
		}
	}
	if !strings.Contains(whole.String(), "step after") || strings.Contains(sparing.String(), "step after") {
		t.Errorf("steps are in the wrong trace:\n%s\n%s", whole.String(), sparing.String())
	}
}

package sim

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"lakebed/engine/host"
)

// finish runs the world and fails the test unless it finished in good order.
func finish(t *testing.T, w *World) Verdict {
	t.Helper()
	v := w.Run(time.Hour)
	if v.Failed() {
		t.Fatalf("the world did not finish:\n%s", v.String())
	}
	return v
}

// expect runs the world and fails the test unless it ended in this way.
func expect(t *testing.T, w *World, kind Kind) Verdict {
	t.Helper()
	v := w.Run(time.Hour)
	if v.Kind != kind {
		t.Fatalf("got %q, want %q:\n%s", v.Kind, kind, v.String())
	}
	return v
}

// start makes a node and starts it with a boot that cannot fail.
func start(w *World, name string, f func(h host.Host)) *Node {
	n := w.NewNode(name)
	n.Start(func(h host.Host) error {
		f(h)
		return nil
	})
	return n
}

func mustContain(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Fatalf("%q is missing in:\n%s", part, text)
	}
}

// noLeak fails the test if it ends with more goroutines than it began with. Coroutines are goroutines.
func noLeak(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for range 100 {
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(time.Millisecond) // the runtime takes a moment to count an ended goroutine out
		}
		t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

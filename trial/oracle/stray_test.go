package oracle

import (
	"testing"

	"lakebed/engine/bookkeeper/metadata/memory"
)

// TestAWatcherWithoutAConnectionIsStray: one that has a connection is not, and one that was forgotten is not.
func TestAWatcherWithoutAConnectionIsStray(t *testing.T) {
	o := New(nil, Config{Limits: memory.DefaultLimits()})
	o.process = &process{connections: nil}
	if err := o.tree.Watch(1, "/ledgers"); err != nil {
		t.Fatal(err)
	}
	if stray := o.StrayWatchers(); stray != 1 {
		t.Errorf("%d stray watchers, want the one without a connection", stray)
	}
	o.tree.Forget(1)
	if stray := o.StrayWatchers(); stray != 0 {
		t.Errorf("%d stray watchers after it was forgotten", stray)
	}
}

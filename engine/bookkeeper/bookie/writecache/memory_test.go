package writecache_test

import (
	"io"
	"log/slog"
	"runtime"
	"testing"

	"lakebed/engine/bookkeeper/bookie/writecache"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host/oshost"
)

// TestTheShortestEntriesTakeNoMoreMemoryThanIsCounted: what the process's heap grows by is what Bytes says, however the
// entries lie among ledgers. The index is most of it: without it a bound on the bytes would let through many times as much.
func TestTheShortestEntriesTakeNoMoreMemoryThanIsCounted(t *testing.T) {
	h, err := oshost.New(oshost.Config{Seed: 1, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	const chunkBytes, slack = 64 << 10, 128 << 10
	for _, shape := range []struct {
		name             string
		ledgers, entries int
	}{
		{"one ledger", 1, 200_000},
		{"a page and one more in each", 300, 513},
		{"pages that grow", 2000, 65},
		{"one entry in each", 50_000, 1},
	} {
		before := liveHeap()
		g := writecache.NewGeneration(h, chunkBytes)
		for e := range shape.entries {
			for id := range shape.ledgers {
				g.Insert(ledger.ID(id), ledger.EntryID(e), []byte{1})
			}
		}
		grown, counted := liveHeap()-before, g.Bytes()
		entries := int64(shape.entries * shape.ledgers)
		t.Logf("%s: %d entries take %d bytes, %d are counted, %d an entry", shape.name, entries, grown, counted, counted/entries)
		if grown > counted+slack {
			t.Errorf("%s: %d bytes are counted, and the heap has grown by %d", shape.name, counted, grown)
		}
		if counted > 2*grown+slack {
			t.Errorf("%s: %d bytes are counted, and the heap has grown by only %d", shape.name, counted, grown)
		}
		g.Unpin()
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// liveHeap is what lies in the heap and is not garbage.
func liveHeap() int64 {
	var m runtime.MemStats
	for range 3 { // pools are emptied in two steps
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

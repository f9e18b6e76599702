package writecache_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lakebed/engine/bookkeeper/bookie/writecache"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/sim"
)

// inWorld runs f as a node of a simulated world, where memory that was given back is poisoned.
func inWorld(f func(h host.Host) error) error {
	w := sim.New(sim.Config{Seed: 1})
	n := w.NewNode("node")
	n.Start(f)
	if v := w.Run(time.Hour); v.Failed() {
		return errors.New(v.String())
	}
	return n.BootErr()
}

// testInWorld is inWorld for tests that report by themselves.
func testInWorld(t *testing.T, f func(h host.Host)) {
	t.Helper()
	if err := inWorld(func(h host.Host) error {
		f(h)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

type key struct {
	ledger ledger.ID
	entry  ledger.EntryID
}

// machine drives a generation and a map side by side.
type machine struct {
	g      *writecache.Generation
	memory host.Memory
	model  map[key][]byte
	serial byte
}

// step is one call. All are drawn before the world begins.
type step struct {
	drop bool
	key  key
	size int
}

func drawSteps(t *rapid.T) (steps []step) {
	for range rapid.IntRange(0, 60).Draw(t, "steps") {
		steps = append(steps, step{
			drop: rapid.IntRange(0, 9).Draw(t, "drop") == 0,
			key: key{
				ledger.ID(rapid.SampledFrom([]int64{0, 1, 2, 3, 1 << 60}).Draw(t, "ledger")),
				ledger.EntryID(rapid.OneOf(rapid.Int64Range(0, 12), rapid.Int64Range(1<<40, 1<<40+3)).Draw(t, "entry")),
			},
			size: rapid.SampledFrom([]int{0, 1, 63, 64, 65, 100, 300}).Draw(t, "size"),
		})
	}
	return steps
}

func (m *machine) do(s step) error {
	if s.drop {
		m.g.Drop(s.key.ledger)
		for k := range m.model {
			if k.ledger == s.key.ledger {
				delete(m.model, k)
			}
		}
		return nil
	}
	m.serial++
	body := bytes.Repeat([]byte{m.serial}, s.size)
	stored := m.g.Insert(s.key.ledger, s.key.entry, body)
	if !bytes.Equal(stored, body) {
		return fmt.Errorf("Insert returned %x", stored)
	}
	m.model[s.key] = slices.Clone(body)
	clear(body) // the generation keeps a copy
	return nil
}

// check compares everything the generation says with the model.
func (m *machine) check() error {
	want := make([]key, 0, len(m.model))
	last := map[ledger.ID]ledger.EntryID{}
	for k := range m.model {
		want = append(want, k)
		if e, ok := last[k.ledger]; !ok || k.entry > e {
			last[k.ledger] = k.entry
		}
	}
	slices.SortFunc(want, func(a, b key) int {
		if a.ledger != b.ledger {
			return int(min(max(a.ledger-b.ledger, -1), 1))
		}
		return int(min(max(a.entry-b.entry, -1), 1))
	})
	var walked []key
	follows := map[ledger.ID]int{}
	for _, k := range want {
		follows[k.ledger]++
	}
	err := m.g.Walk(func(id ledger.ID, entry ledger.EntryID, body []byte, follow int) error {
		k := key{id, entry}
		walked = append(walked, k)
		if follows[id]--; follow != follows[id] {
			return fmt.Errorf("%d entries are said to follow %v, want %d", follow, k, follows[id])
		}
		if got, ok := m.g.Get(id, entry); !ok || !bytes.Equal(body, m.model[k]) || !bytes.Equal(got, body) {
			return fmt.Errorf("%v holds %x, want %x", k, body, m.model[k])
		}
		return nil
	})
	if err != nil || !slices.Equal(walked, want) {
		return fmt.Errorf("walked %v, want %v; %v", walked, want, err)
	}
	if m.g.Entries() != len(want) {
		return fmt.Errorf("counts %d entries, holds %d", m.g.Entries(), len(want))
	}
	for id := range ledger.ID(5) {
		if e, ok := last[id]; m.g.Last(id) != e && ok || !ok && m.g.Last(id) != ledger.NoEntry {
			return fmt.Errorf("last of %d is %d, want %d", id, m.g.Last(id), e)
		}
		if _, ok := m.g.Get(id, 999); ok {
			return errors.New("an entry was invented")
		}
	}
	if in := m.memory.InUse(); m.g.Bytes() < in || m.g.Bytes() == in && len(want) > 0 {
		return fmt.Errorf("claims %d bytes, has %d in hand besides the index", m.g.Bytes(), in)
	}
	return nil
}

// TestAGenerationIsASortedMap whatever the order of inserts, replacements and drops, and gives all its memory back.
func TestAGenerationIsASortedMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunk := rapid.SampledFrom([]int{64, 128, 4096}).Draw(t, "chunk")
		steps := drawSteps(t)
		if err := inWorld(func(h host.Host) error { return live(h, chunk, steps) }); err != nil {
			t.Fatal(err)
		}
	})
}

func live(h host.Host, chunk int, steps []step) error {
	m := &machine{g: writecache.NewGeneration(h, chunk), memory: h.Memory(), model: map[key][]byte{}}
	for _, s := range steps {
		if err := m.do(s); err != nil {
			return err
		}
	}
	if err := m.check(); err != nil {
		return err
	}
	if m.g.Unpin() || h.Memory().InUse() != 0 {
		return fmt.Errorf("the last pin left %d bytes in hand", h.Memory().InUse())
	}
	return nil
}

// TestALongRunIsSortedAcrossItsPages: slots lie in pages, and an entry that comes late moves those behind it over their
// borders. Every order of arrival that writers and recoveries produce: ascending, in strides, backwards, and again.
func TestALongRunIsSortedAcrossItsPages(t *testing.T) {
	const count = 1700
	orders := map[string]func(i int) int{
		"ascending": func(i int) int { return i },
		"backwards": func(i int) int { return count - 1 - i },
		"strides":   func(i int) int { return i * 701 % count },
		"pairs":     func(i int) int { return i ^ 1 },
	}
	for _, name := range host.SortedKeys(orders) {
		testInWorld(t, func(h host.Host) {
			g := writecache.NewGeneration(h, 4096)
			for round := range 2 { // the second one replaces all
				for i := range count {
					entry := orders[name](i)
					g.Insert(1, ledger.EntryID(entry), fmt.Appendf(nil, "%d in round %d", entry, round))
				}
			}
			next := 0
			_ = g.Walk(func(_ ledger.ID, entry ledger.EntryID, body []byte, _ int) error {
				if want := fmt.Sprintf("%d in round 1", next); entry != ledger.EntryID(next) || string(body) != want {
					t.Errorf("%s: entry %d is %q, want %q", name, entry, body, want)
				}
				next++
				return nil
			})
			if next != count || g.Entries() != count || g.Last(1) != count-1 {
				t.Errorf("%s: walked %d, counts %d, last %d", name, next, g.Entries(), g.Last(1))
			}
		})
	}
}

// TestAPinKeepsTheBytesAndNothingElseDoes: memory is poisoned exactly when the last pin goes.
func TestAPinKeepsTheBytesAndNothingElseDoes(t *testing.T) {
	testInWorld(t, func(h host.Host) {
		g := writecache.NewGeneration(h, 4096)
		g.Insert(1, 0, []byte("the entry"))
		g.Insert(1, 1, bytes.Repeat([]byte("x"), 5000)) // longer than a chunk
		body, _ := g.Get(1, 0)
		for range 3 {
			g.Pin()
		}
		g.Drop(1) // readers may still hold the bytes
		for range 3 {
			if !g.Unpin() || string(body) != "the entry" {
				t.Errorf("a pinned generation holds %q", body)
			}
		}
		if g.Unpin() {
			t.Error("the last pin says that there are others")
		}
		if string(body) == "the entry" || h.Memory().InUse() != 0 {
			t.Errorf("without a pin: %q, %d bytes in hand", body, h.Memory().InUse())
		}
	})
}

// TestUnpinningTwiceIsFoundOut: it would give memory back under the feet of others.
func TestUnpinningTwiceIsFoundOut(t *testing.T) {
	testInWorld(t, func(h host.Host) {
		g := writecache.NewGeneration(h, 64)
		g.Unpin()
		defer func() {
			if recover() == nil {
				t.Error("a second Unpin went through")
			}
		}()
		g.Unpin()
	})
}

// TestAReplacedEntryKeepsItsOldBytes for those who were given them: the journal's group may refer to them.
func TestAReplacedEntryKeepsItsOldBytes(t *testing.T) {
	testInWorld(t, func(h host.Host) {
		g := writecache.NewGeneration(h, 64)
		old := g.Insert(1, 5, []byte("old"))
		g.Insert(1, 5, []byte("new"))
		g.Insert(1, 2, []byte("two"))
		got, _ := g.Get(1, 5)
		if string(old) != "old" || string(got) != "new" || g.Entries() != 2 {
			t.Errorf("old %q, new %q, %d entries", old, got, g.Entries())
		}
	})
}

// TestAnAppendToAStoredBodyReachesNoNeighbour: bodies lie side by side in a chunk.
func TestAnAppendToAStoredBodyReachesNoNeighbour(t *testing.T) {
	testInWorld(t, func(h host.Host) {
		g := writecache.NewGeneration(h, 64)
		first := g.Insert(1, 0, []byte("aaa"))
		second := g.Insert(1, 1, []byte("bbb"))
		_ = append(first, "XYZ"...)
		if string(second) != "bbb" {
			t.Errorf("the neighbour holds %q", second)
		}
	})
}

// TestAWalkEndsAtTheFirstError and tells it.
func TestAWalkEndsAtTheFirstError(t *testing.T) {
	testInWorld(t, func(h host.Host) {
		g := writecache.NewGeneration(h, 64)
		for id := range ledger.ID(3) {
			g.Insert(id, 0, nil)
			g.Insert(id, 1, nil)
		}
		own, calls := errors.New("own"), 0
		err := g.Walk(func(id ledger.ID, entry ledger.EntryID, _ []byte, _ int) error {
			if calls++; id == 1 && entry == 1 {
				return own
			}
			return nil
		})
		if err != own || calls != 4 {
			t.Errorf("%v after %d calls", err, calls)
		}
		var ids []ledger.ID
		g.Ledgers(func(id ledger.ID) bool {
			ids = append(ids, id)
			return id < 1
		})
		if !slices.Equal(ids, []ledger.ID{0, 1}) {
			t.Errorf("ledgers %v", ids)
		}
	})
}

// TestPinsAreTakenFromAnyTask under the race detector.
func TestPinsAreTakenFromAnyTask(t *testing.T) {
	h, err := oshost.New(oshost.Config{Volumes: map[string]string{}, Seed: 1, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	g := writecache.NewGeneration(h, 4096)
	body := g.Insert(1, 0, []byte("entry"))
	tasks := h.Root().New("readers")
	for range 8 {
		g.Pin()
		tasks.Go("reader", func() {
			for range 1000 {
				g.Pin()
				if string(body) != "entry" {
					t.Error("a pinned generation changed")
				}
				g.Unpin()
			}
			g.Unpin()
		})
	}
	tasks.Wait()
	if g.Unpin() || h.Memory().InUse() != 0 {
		t.Error("the memory is still in hand")
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

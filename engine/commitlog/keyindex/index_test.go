package keyindex_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"lakebed/engine/commitlog/keyindex"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/engine/openfiles"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// TestEveryMessageIsFoundByItsKeys over flushes, full files, and starts that go on from a stored state, with what came after it
// added again.
func TestEveryMessageIsFoundByItsKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	for seed := range uint64(4) {
		w := sim.New(sim.Config{Seed: seed})
		node := w.NewNode("node")
		node.Start(func(h host.Host) error { return anyIndex(h, rand.New(rand.NewPCG(seed, 1))) })
		if v := w.Run(time.Hour); v.Failed() {
			t.Fatalf("seed %d: %s", seed, v.String())
		}
		if err := node.BootErr(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func anyIndex(h host.Host, r *rand.Rand) error {
	dir, err := h.Disk("index")
	if err != nil {
		return err
	}
	o := keyindex.Options{Dir: dir, Files: openfiles.New(h, h.Root(), 1+r.IntN(4)), Slots: int32(30 + r.IntN(300)), Entries: int32(2 + r.IntN(400)),
		SnapshotEntries: int32(1 + r.IntN(60))}
	x, err := keyindex.Open(h, o)
	if err != nil {
		return err
	}
	var added []message.Message
	durable := 0 // messages that the stored state covers
	life := 0
	for range 150 {
		switch r.IntN(13) {
		case 0, 1:
			state, err := x.Flush()
			if err != nil {
				return err
			}
			if r.IntN(3) > 0 { // else the state is lost
				o.State, durable = state, len(added)
				x.Stored()
			}
		case 2: // a crash: what was not stored is added again, or was lost with the end of the log
			o.Files = openfiles.New(h, h.Root(), 1+r.IntN(4)) // of another process
			if x, err = keyindex.Open(h, o); err != nil {
				return err
			}
			life++
			if r.IntN(2) == 0 {
				added = added[:durable]
			}
			for i := max(durable-r.IntN(5), 0); i < len(added); i++ {
				x.Add(&added[i])
			}
		default:
			for range 1 + r.IntN(10) {
				m := messageOf(len(added), life%3)
				added = append(added, m)
				x.Add(&m)
			}
		}
	}
	return checkIndex(x, added)
}

func checkIndex(x *keyindex.Index, added []message.Message) error {
	for i := range added {
		found, err := x.Lookup([]byte("t"), fmt.Appendf(nil, "own%d", i), 0, 1<<62, 100)
		if err != nil {
			return err
		}
		count := 0
		for _, at := range found {
			if at == added[i].PhysicalOffset {
				count++
			}
		}
		if count != 1 {
			return fmt.Errorf("message %d of %d is found %d times by its own key", i, len(added), count)
		}
	}
	for group := range 9 {
		found, err := x.Lookup([]byte("t"), fmt.Appendf(nil, "of%d", group), 0, 1<<62, len(added))
		if err != nil {
			return err
		}
		want := 0
		for i := range added {
			if i%9 == group {
				want++
			}
		}
		if len(found) < want {
			return fmt.Errorf("%d of %d messages are found by their common key", len(found), want)
		}
		for i := 1; i < len(found); i++ {
			if found[i] >= found[i-1] {
				return fmt.Errorf("%d comes behind %d: the newest come first", found[i], found[i-1])
			}
		}
	}
	return nil
}

// TestEntriesThatCountSurviveATornWrite that adds others behind them, or that completes their file.
func TestEntriesThatCountSurviveATornWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	for seed := range uint64(6) {
		w := sim.New(sim.Config{Seed: seed})
		node := w.NewNode("node")
		o := keyindex.Options{Slots: int32(90 + seed*13), Entries: []int32{150, 400}[seed%2], SnapshotEntries: 40}
		var added []message.Message
		durable, syncs := 0, 0
		node.Disk("index").SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if op.Kind == sim.DiskSync {
				if syncs++; syncs%5 == 0 {
					node.Crash(sim.PowerCut(disk.Torn))
				}
			}
			return sim.DiskEffect{}
		})
		boot := func(h host.Host) (err error) {
			if o.Dir, err = h.Disk("index"); err != nil {
				return err
			}
			o.Files = openfiles.New(h, h.Root(), 2)
			x, err := keyindex.Open(h, o)
			if err != nil {
				return err
			}
			added = added[:durable] // the log has lost the others
			if err := checkIndex(x, added); err != nil {
				return err
			}
			for {
				for range 1 + h.Rand("sizes").IntN(60) {
					m := messageOf(len(added), node.Epoch()%3)
					added = append(added, m)
					x.Add(&m)
				}
				state, err := x.Flush()
				if err != nil {
					return err
				}
				o.State, durable = state, len(added)
				x.Stored()
			}
		}
		node.OnExit(func(err error, _ bool) {
			if err != nil {
				t.Errorf("seed %d, life %d: %v", seed, node.Epoch(), err)
			}
			if err == nil && node.Epoch() < 10 {
				w.At(0, func() { node.Start(boot) })
			}
		})
		node.Start(boot)
		if v := w.Run(time.Hour); v.Failed() {
			t.Fatal(v.String())
		}
		if durable < 250 {
			t.Errorf("seed %d: only %d messages", seed, durable)
		}
	}
}

// messageOf makes the n-th message, with so many keys more than others have: entries of another life have other numbers.
func messageOf(n, more int) message.Message {
	m := message.Message{Topic: []byte("t"), PhysicalOffset: int64(n) * 100, StoreTimestamp: int64(n) * 10}
	m.Properties, _ = message.AppendProperties(nil, message.Property{Name: message.PropertyKeys, Value: fmt.Sprintf("own%d of%d", n, n%9) + strings.Repeat(" more", more)})
	return m
}

// TestWhatAnEarlierVersionWroteLacksNothing: states without what follows the entries, and files whose entry 0 is zero.
func TestWhatAnEarlierVersionWroteLacksNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	w := sim.New(sim.Config{Seed: 1})
	node := w.NewNode("node")
	node.Start(func(h host.Host) error {
		dir, err := h.Disk("index")
		if err != nil {
			return err
		}
		o := keyindex.Options{Dir: dir, Files: openfiles.New(h, h.Root(), 2), Slots: 30, Entries: 150, SnapshotEntries: 40}
		x, err := keyindex.Open(h, o)
		if err != nil {
			return err
		}
		var added []message.Message
		for range 250 { // of two keys each
			m := messageOf(len(added), 0)
			added = append(added, m)
			x.Add(&m)
		}
		state, err := x.Flush()
		if err != nil {
			return err
		}
		infos, err := dir.List()
		for _, info := range infos {
			if err == nil && !strings.HasPrefix(info.Name, "slots") {
				var f host.File
				if f, err = dir.Open(info.Name); err == nil {
					err = errors.Join(host.WriteFullAt(f, make([]byte, 20), 40+4*30), f.Close())
				}
			}
		}
		if err != nil {
			return err
		}
		o.State, o.Files = state[:len(state)-24], openfiles.New(h, h.Root(), 2)
		if x, err = keyindex.Open(h, o); err != nil {
			return err
		}
		if x.Lack() != nil {
			t.Errorf("%+v", x.Lack())
		}
		return checkIndex(x, added)
	})
	if v := w.Run(time.Hour); v.Failed() || node.BootErr() != nil {
		t.Error(v.String(), node.BootErr())
	}
}

// TestFilesThatAKilledProcessRemovedStayAway: it removed them and was killed before it had synced the directory. An index that was opened since
// gives their entries' numbers to others, and a power cut must not bring the old ones back.
func TestFilesThatAKilledProcessRemovedStayAway(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	w := sim.New(sim.Config{Seed: 1})
	node := w.NewNode("node")
	o := keyindex.Options{Slots: 50, Entries: 100, SnapshotEntries: 20}
	open := func(h host.Host) (*keyindex.Index, error) {
		o.Files = openfiles.New(h, h.Root(), 2)
		return keyindex.Open(h, o)
	}
	processes := []func(h host.Host) error{func(h host.Host) error {
		x, err := open(h)
		for n := 0; n < 250 && err == nil; n++ {
			m := messageOf(n, 0)
			x.Add(&m)
			if n%30 == 29 {
				_, err = x.Flush()
				x.Stored()
			}
		}
		return err
	}, func(h host.Host) error {
		infos, err := o.Dir.List()
		if len(infos) < 3 {
			t.Errorf("%d files are there", len(infos))
		}
		for _, info := range infos {
			err = errors.Join(err, o.Dir.Remove(info.Name))
		}
		node.Crash(sim.KillProcess())
		return err
	}, func(h host.Host) error {
		_, err := open(h)
		node.Crash(sim.PowerCut(disk.Drop))
		return err
	}, func(h host.Host) error {
		infos, err := o.Dir.List()
		if len(infos) > 0 {
			t.Errorf("%d files are back, the first is %s", len(infos), infos[0].Name)
		}
		return err
	}}
	boot := func(h host.Host) (err error) {
		if o.Dir, err = h.Disk("index"); err != nil {
			return err
		}
		return processes[node.Epoch()-1](h)
	}
	node.OnExit(func(err error, _ bool) {
		if err != nil {
			t.Errorf("life %d: %v", node.Epoch(), err)
		}
		if node.Epoch() < len(processes) {
			w.At(0, func() { node.Start(boot) })
		}
	})
	node.Start(boot)
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
}

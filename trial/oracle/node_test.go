package oracle_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/trial/oracle"
)

const bookieAddr = "bookie-0:3181"

// smallBookie is a bookie that is quick to start.
func smallBookie() node.Config {
	c := node.DefaultConfig()
	c.Store.BookieID, c.Initialize = bookieAddr, true
	c.Store.Journal.FileBytes, c.Store.Journal.GroupBytesMax = 256<<10, 16<<10
	c.Store.EntryLog.LogBytesMax, c.Store.EntryLog.ItemsMax, c.Store.EntryLog.GroupBytes = 96<<10, 10_000, 8<<10
	c.Store.EntryLog.IndexCacheBytesMax, c.Store.EntryLog.ReadCacheBytesMax = 32<<10, 32<<10
	c.Store.EntryLog.ReadAheadBytesMax = 8 << 10
	c.Store.WriteCacheBytesMax, c.Store.ChunkBytes = 64<<10, 4<<10
	c.Store.EntryBytesMax, c.Store.BatchBytesMax = 16<<10, 32<<10
	c.Server.InputBufferBytes, c.Server.OutputBytes = 4<<10, 1<<10
	c.Server.BatchesMax, c.Server.BatchEntriesMax, c.Server.BatchBytesMax = 4, 16, 8<<10
	return c
}

// aBookie is a bookie's process whose session ends around its n-th call.
type aBookie struct {
	n      int
	after  bool
	calls  int
	err    error
	stamps int // directories that carry a cookie in the end
	exited bool
}

func (b *aBookie) boot(h host.Host) error {
	store, err := connect(h)
	if err != nil {
		return err
	}
	if err := store.Sync(nil); err != nil {
		return err
	}
	f := &fragile{Client: store, h: h, n: b.n, after: b.after}
	b.err = node.Run(h, f, smallBookie())
	b.calls = f.calls
	for _, volume := range []string{bookie.JournalVolume, bookie.LedgerVolume} {
		dir, err := h.Disk(volume)
		if err != nil {
			return err
		}
		if file, err := dir.Open(bookie.CookieFile); err == nil {
			b.stamps++
			_ = file.Close()
		}
	}
	return errors.Join(f.err, store.Close())
}

// life runs a bookie's process, stops it once it is registered, and returns what became of it.
func life(w *world, h host.Host, disks *sim.Node, n int, after bool) (*aBookie, error) {
	b := &aBookie{n: n, after: after}
	disks.OnExit(func(error, bool) { b.exited = true })
	disks.Start(b.boot)
	err := comes(h, "the bookie", func() bool { return b.exited || keysOf(w.oracle, bookieAddr) == "writable " })
	h.Root().Sleep(5 * time.Second) // for a late expiry
	if err == nil && !b.exited {
		disks.Stop()
		err = comes(h, "the end of the bookie", func() bool { return b.exited })
	}
	return b, errors.Join(err, disks.BootErr())
}

// TestABookiesStartOutlivesAnExpiryAtEachCall: a new bookie comes up. One whose disks were wiped is refused, and nothing was
// written to them: what a session reads that begins in the past must not make it look like a new one.
func TestABookiesStartOutlivesAnExpiryAtEachCall(t *testing.T) {
	config := oracle.Tame()
	config.StalePermille, config.StaleMax = 900, time.Hour
	runs := 0
	for _, after := range []bool{false, true} {
		for n, untouched := 1, false; !untouched; n++ {
			for seed := range uint64(8) { // which past the next session sees is chance
				_, err := run(seed, config, func(w *world, h host.Host) (err error) {
					untouched, err = twoLives(w, h, n, after)
					return err
				})
				if err != nil {
					t.Fatalf("the session ends at call %d, after it: %v: %v", n, after, err)
				}
				runs++
			}
		}
	}
	t.Logf("%d runs", runs)
}

// twoLives starts a new bookie, wipes its disks and starts it again.
func twoLives(w *world, h host.Host, n int, after bool) (untouched bool, err error) {
	disks := w.NewNode("bookie-0")
	fresh, err := life(w, h, disks, n, after)
	if err = errors.Join(err, fresh.err); err != nil {
		return false, fmt.Errorf("a new bookie: %w", err)
	}
	for _, volume := range []string{bookie.JournalVolume, bookie.LedgerVolume} {
		disks.Disk(volume).Replace(0)
	}
	wiped, err := life(w, h, disks, n, after)
	if err != nil || !errors.Is(wiped.err, bookie.ErrCookie) || wiped.stamps > 0 {
		return false, fmt.Errorf("a wiped bookie ended with %v, %d directories are stamped: %w", wiped.err, wiped.stamps, err)
	}
	return fresh.calls < n && wiped.calls < n, nil
}

package ledgers_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	bookienode "lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/trial/bench/ledgers"
)

// small keeps the files of a test's bookies small.
func small(_ int, c *bookienode.Config) {
	c.Store.Journal.FileBytes, c.Store.Journal.GroupBytesMax, c.Store.BatchBytesMax = 16<<20, 2<<20, 4<<20
	c.Store.Journal.GroupBytesMax, c.Store.EntryBytesMax = 1<<20, 1<<20
	c.Store.WriteCacheBytesMax = 16 << 20
	c.Server.BatchBytesMax = 1 << 20
}

func startLocal(t *testing.T, o ledgers.LocalOptions) *ledgers.Local {
	t.Helper()
	o.Dir, o.Configure = t.TempDir(), small
	l, err := ledgers.StartLocal(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func dial(t *testing.T, l *ledgers.Local) *ledgers.Client {
	t.Helper()
	c, err := ledgers.Dial(l.Metadata(), client.DefaultConfig(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestALocalClusterIsReadyWhenItsStartReturns: a client finds all bookies at once, and what it wrote is there after every
// bookie was stopped and started at the address it had.
func TestALocalClusterIsReadyWhenItsStartReturns(t *testing.T) {
	l := startLocal(t, ledgers.LocalOptions{Bookies: 3})
	c := dial(t, l)
	w, err := c.Create(client.DefaultCreateOptions())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if _, err := w.AppendOne(fmt.Append(nil, "entry ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	before := l.Bookies()
	for i := range before {
		if err := l.StopBookie(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.StopBookie(0); !errors.Is(err, ledgers.ErrNoBookie) {
		t.Errorf("stopped twice: %v", err)
	}
	for i := range before {
		if err := l.StartBookie(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	if after := l.Bookies(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("bookies at %v came back at %v", before, after)
	}
	// The first client pauses before it dials again a bookie that it has just lost.
	r, err := dial(t, l).Open(w.ID(), client.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	entries, err := r.Read(0, 9)
	if err != nil {
		t.Fatal(err)
	}
	defer entries.Release()
	for i, e := range entries.List {
		if e.ID != ledger.EntryID(i) || string(e.Payload) != fmt.Sprint("entry ", i) {
			t.Errorf("entry %d reads %q", e.ID, e.Payload)
		}
	}
}

// counting counts the syncs of a node's files.
type counting struct {
	host.Host
	syncs *atomic.Int64
}

func (c counting) Disk(volume string) (host.Dir, error) {
	d, err := c.Host.Disk(volume)
	return countingDir{d, c.syncs}, err
}

type countingDir struct {
	host.Dir
	syncs *atomic.Int64
}

func (d countingDir) Sub(name string) (host.Dir, error) {
	sub, err := d.Dir.Sub(name)
	return countingDir{sub, d.syncs}, err
}

func (d countingDir) Create(name string) (host.File, error) {
	f, err := d.Dir.Create(name)
	return countingFile{f, d.syncs}, err
}

func (d countingDir) Open(name string) (host.File, error) {
	f, err := d.Dir.Open(name)
	return countingFile{f, d.syncs}, err
}

type countingFile struct {
	host.File
	syncs *atomic.Int64
}

func (f countingFile) Sync() error {
	f.syncs.Add(1)
	return f.File.Sync()
}

// TestAWrappedHostSeesTheDiskOfItsNodeAlone: which is how one bookie of a cluster is slowed or broken. With it one sees
// also that an unsynced cluster does not sync its adds.
func TestAWrappedHostSeesTheDiskOfItsNodeAlone(t *testing.T) {
	for _, unsynced := range []bool{false, true} {
		var syncs, others atomic.Int64
		l := startLocal(t, ledgers.LocalOptions{Bookies: 3, Unsynced: unsynced, WrapHost: func(node string, h host.Host) host.Host {
			if node == ledgers.BookieNode(1) {
				return counting{h, &syncs}
			}
			if node == ledgers.MetadataNode {
				return counting{h, &others}
			}
			return h
		}})
		c := dial(t, l)
		w, err := c.Create(client.DefaultCreateOptions())
		if err != nil {
			t.Fatal(err)
		}
		before := syncs.Load()
		for range 20 {
			if _, err := w.AppendOne([]byte("entry")); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		// An ack quorum is two: this bookie may still have some adds before it.
		if more := syncs.Load() - before; before == 0 || unsynced == (more > 5) || others.Load() > 0 {
			t.Errorf("unsynced %t: %d syncs before, %d of 20 adds; %d of a node without a disk", unsynced, before, more, others.Load())
		}
	}
}

// TestAStartThatCannotSucceedEndsInTime and leaves nothing behind.
func TestAStartThatCannotSucceedEndsInTime(t *testing.T) {
	for name, o := range map[string]ledgers.LocalOptions{
		"no bookies": {},
		"a bookie with a wrong setting": {Bookies: 2, Configure: func(i int, c *bookienode.Config) {
			if i == 1 {
				c.DiskUsageThreshold = 2
			}
		}},
		"one that never registers": {Bookies: 1, StartTimeout: 50 * time.Millisecond, WrapHost: func(node string, h host.Host) host.Host {
			if node != ledgers.MetadataNode {
				h.Root().Sleep(200 * time.Millisecond)
			}
			return h
		}},
	} {
		o.Dir = t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if l, err := ledgers.StartLocal(ctx, o); err == nil || ctx.Err() != nil {
			t.Errorf("%s: started, or too late: %v", name, err)
			if l != nil {
				_ = l.Close()
			}
		}
		cancel()
	}
}

package workloads_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/server"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/model"
	"lakebed/workloads"
	"lakebed/workloads/agenda"
)

// realMix is the mix of the default scenario, in a hurry.
func realMix() workloads.Mix {
	return workloads.Mix{
		Add: 30, AddBatch: 12, Recover: 5, Retry: 4, Read: 26, ReadRange: 8, LastEntry: 4, Fence: 2, Delete: 1, List: 1, Flush: 1,
		PayloadBytesMax: 3000, BatchMax: 8, LedgerEntries: 100, Stride: 2,
	}
}

func realConfig() bookie.Config {
	c := bookie.DefaultConfig()
	c.Journal.FileBytes, c.Journal.GroupBytesMax = 1<<20, 64<<10
	c.EntryLog.LogBytesMax, c.EntryLog.GroupBytes = 512<<10, 32<<10
	c.EntryLog.IndexCacheBytesMax, c.EntryLog.ReadCacheBytesMax = 64<<10, 64<<10
	c.WriteCacheBytesMax, c.ChunkBytes = 512<<10, 16<<10
	c.EntryBytesMax, c.BatchBytesMax = 8<<10, 64<<10
	c.CheckpointInterval = 200 * time.Millisecond
	return c
}

// life runs a bookie with clients inside its process and over TCP until the context ends, or verifies what there is.
type life struct {
	lab    *workloads.Lab
	inside int
	remote int
	verify bool
}

func (l *life) boot(h host.Host) error {
	store, err := bookie.Open(h, h.Root(), realConfig())
	if err != nil {
		return err
	}
	l.lab.Recorder.Started()
	if l.verify {
		if !workloads.NewClient(h, h.Root(), l.lab, store, 100, time.Microsecond).Verify() {
			return errors.Join(errors.New("the bookie stopped while it was verified"), store.Close())
		}
		return store.Close()
	}
	listener, err := h.Net().Listen("127.0.0.1:0")
	if err != nil {
		return errors.Join(err, store.Close())
	}
	s := server.Serve(h, h.Root(), store, listener, server.DefaultConfig())
	clients := h.Root().New("clients")
	for i := range l.inside {
		clients.Go("client", workloads.NewClient(h, clients, l.lab, store, i, 200*time.Microsecond).Run)
	}
	for i := range l.remote {
		clients.Go("remote", workloads.NewRemote(h, l.lab, s.Addr(), 50+i, 200*time.Microsecond, channel.DefaultConfig()).Run)
	}
	err = store.AwaitEnd(h.Root())
	clients.Stop()
	s.Close()
	closed := store.Close()
	clients.Wait()
	return errors.Join(err, closed)
}

// TestHistoriesFromRealDisksAndSocketsAreRight runs the campaign's clients on goroutines, files and TCP, through several
// clean restarts, and asks the same checkers. Under -race it looks for what the simulator cannot see. LAKEBED_RACE_SECONDS
// makes it longer.
func TestHistoriesFromRealDisksAndSocketsAreRight(t *testing.T) {
	total := 3 * time.Second
	if text := os.Getenv("LAKEBED_RACE_SECONDS"); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("LAKEBED_RACE_SECONDS=%q: %v", text, err)
		}
		total = time.Duration(seconds) * time.Second
	}
	const rounds = 3
	dir := t.TempDir()
	volumes := map[string]string{}
	for _, v := range []string{bookie.JournalVolume, bookie.LedgerVolume} {
		volumes[v] = filepath.Join(dir, v)
		if err := os.Mkdir(volumes[v], 0o755); err != nil {
			t.Fatal(err)
		}
	}
	lab := workloads.NewLab(realMix(), 1, agenda.New(1))
	for round := range rounds + 1 {
		l := &life{lab: lab, inside: 6, remote: 3, verify: round == rounds}
		ctx, cancel := context.WithTimeout(t.Context(), total/rounds)
		if l.verify {
			ctx = t.Context()
		}
		err := oshost.Run(ctx, oshost.Config{Volumes: volumes, Seed: uint64(round + 1)}, l.boot)
		cancel()
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		lab.Recorder.Stopped()
	}
	history := lab.Recorder.History()
	for _, v := range model.CheckBookie(history) {
		t.Errorf("%s: %s\n%s", v.Checker, v.Signature, v.Explanation)
	}
	t.Logf("%d operations: %v", lab.Recorder.Operations(), lab.Recorder.Answers())
}

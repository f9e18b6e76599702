package server_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/server"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// fillable is a machine whose ledger volume can become full. Its files offer nothing but host.File.
type fillable struct {
	host.Host
	full atomic.Bool
}

func (f *fillable) Disk(volume string) (host.Dir, error) {
	dir, err := f.Host.Disk(volume)
	if volume != bookie.LedgerVolume || err != nil {
		return dir, err
	}
	return &fillableDir{Dir: dir, full: &f.full}, nil
}

type fillableDir struct {
	host.Dir
	full *atomic.Bool
}

func (d *fillableDir) Create(name string) (host.File, error) { return d.wrap(d.Dir.Create(name)) }
func (d *fillableDir) Open(name string) (host.File, error)   { return d.wrap(d.Dir.Open(name)) }

func (d *fillableDir) wrap(f host.File, err error) (host.File, error) {
	if err != nil {
		return nil, err
	}
	return &fillableFile{File: f, full: d.full}, nil
}

type fillableFile struct {
	host.File
	full *atomic.Bool
}

func (f *fillableFile) WriteBuffersAt(b [][]byte, off int64) (int64, error) {
	if f.full.Load() {
		return 0, host.ErrNoSpace
	}
	return f.File.WriteBuffersAt(b, off)
}

// TestAFullDiskDoesNotKeepABookieFromStoppingOnThisMachine: as in the world, with real goroutines and sockets, for the race
// detector. Several connections wait for room when the stop comes.
func TestAFullDiskDoesNotKeepABookieFromStoppingOnThisMachine(t *testing.T) {
	config := server.DefaultConfig()
	config.DrainMax = 300 * time.Millisecond
	disks := map[string]string{bookie.JournalVolume: t.TempDir(), bookie.LedgerVolume: t.TempDir()}
	bookieHost, client := newMachine(t, disks), newMachine(t, nil)
	h := &fillable{Host: bookieHost}
	store, err := bookie.Open(h, h.Root(), smallStore())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := h.Net().Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := server.Serve(h, h.Root(), store, listener, config)
	h.full.Store(true)
	clients := client.Root().New("clients")
	for id := range ledger.ID(4) {
		ch, err := channel.Dial(client, client.Root(), s.Addr(), nil, smallChannel())
		if err != nil {
			t.Fatal(err)
		}
		done := newCollector(client, 100)
		clients.Go("adds", func() {
			defer ch.Close()
			taken := ledger.EntryID(100)
			for e := range taken {
				a := add(id, e, 4000)
				if ch.Submit(&channel.Request{Operation: wire.Add, MasterKey: a.MasterKey, Body: a.Body, Done: done}) != nil {
					taken = e // the bookie is gone
					break
				}
			}
			acked := 0
			for _, r := range done.await(int(taken)) {
				if r.Err == nil {
					acked++
				}
			}
			if acked == 100 {
				t.Errorf("ledger %d: the bookie stored everything", id)
			}
		})
	}
	client.Root().Sleep(500 * time.Millisecond)
	begun := client.Elapsed()
	s.Close()
	err = store.Close()
	if took := client.Elapsed() - begun; took < config.DrainMax || took > config.DrainMax+10*time.Second || !errors.Is(err, host.ErrNoSpace) {
		t.Errorf("the stop took %v and ended with %v", took, err)
	}
	clients.Wait()
	if used := h.Memory().InUse(); used != 0 {
		t.Errorf("%d bytes are left in use", used)
	}
	if err := errors.Join(client.Close(), bookieHost.Close()); err != nil {
		t.Error(err)
	}
}

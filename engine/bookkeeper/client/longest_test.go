package client_test

import (
	"errors"
	"testing"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/server"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/host"
	"lakebed/sim"
)

// The longest payload is what bookies with default settings take, and not a byte more is promised: the writer would die of
// their refusal. Both tests use the edge that the client names, and one byte behind it.

func TestTheLongestPayloadIsTakenByDefaultBookies(t *testing.T) {
	c := newCluster(t, 1, sim.LAN(), 0)
	for i := range 3 {
		node := c.world.NewNode(string(bookieAddr(i))[:len("bookie-0")])
		node.SetDaemon(true)
		node.Start(func(h host.Host) error {
			storage := bookie.DefaultConfig()
			storage.Journal.FileBytes, storage.EntryLog.LogBytesMax = 64<<20, 64<<20
			return runBookie(h, bookieAddr(i), storage, server.DefaultConfig())
		})
	}
	c.config, c.memory = client.DefaultConfig(), 128<<20 // three copies are on their way at a time
	c.run(func(h host.Host, one *client.Client) error {
		if err := one.AwaitBookies(3, nil); err != nil {
			return err
		}
		return longest(one)
	})
}

func TestTheLongestPayloadIsTakenOverLoopback(t *testing.T) {
	l := newLoopback(t, 3)
	if err := longest(l.client); err != nil {
		t.Error(err)
	}
}

// longest writes an entry of the longest payload between two short ones, to all bookies, and reads it singly and in a batch.
func longest(one *client.Client) error {
	w, err := one.Create(options(3, 3, 3))
	if err != nil {
		return err
	}
	long := make([]byte, w.PayloadBytesMax())
	long[len(long)-1] = 1
	for _, p := range [][]byte{{}, long, {}} {
		if _, err := w.AppendOne(p); err != nil {
			return err
		}
	}
	if _, err := w.AppendOne(make([]byte, len(long)+1)); !errors.Is(err, client.ErrInvalid) || errors.Is(err, client.ErrOutcomeUnknown) {
		return errors.Join(errors.New("one byte more was not refused at once"), err)
	}
	if err := w.Close(); err != nil {
		return err
	}
	r, err := one.Open(w.ID(), open)
	if err != nil {
		return err
	}
	defer r.Close()
	single, err := r.Read(1, 1)
	if err != nil {
		return err
	}
	defer single.Release()
	batch, err := r.BatchRead(1, 2, 0)
	if err != nil {
		return err
	}
	defer batch.Release()
	if string(single.List[0].Payload) != string(long) || string(batch.List[0].Payload) != string(long) {
		return errors.New("the longest entry was read as another one")
	}
	return nil
}

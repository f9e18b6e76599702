package commitlog_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/sim"
)

// TestABlankOfAFormerLifeEndsTheLog: a power cut has kept a sector from being written, and what the file had there in its former life
// is a blank, the padding of a group or the filler of a file. The start cuts the log there, and takes in nothing that follows: it would lie
// behind a hole. Later appends go on from there.
func TestABlankOfAFormerLifeEndsTheLog(t *testing.T) {
	for _, mode := range allModes {
		for _, preallocation := range allPreallocations {
			for name, stale := range map[string]func(at, reach int64) []byte{
				"of an earlier version": func(at, reach int64) []byte { return message.AppendBlank(nil, at, reach)[:message.PeekBytes] },
				"of another offset":     func(at, reach int64) []byte { return message.AppendBlank(nil, at-24<<10, reach) },
			} {
				for _, filler := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%s/%s/filler=%v", mode, preallocation, name, filler), func(t *testing.T) {
						config := smallConfig(mode)
						config.Preallocation = preallocation
						staleBlank(t, config, stale, filler)
					})
				}
			}
		}
	}
}

// staleBlank puts a stale blank into the place of the fourth of many messages to one queue. A filler leads to the next file, a padding to the
// fifth message.
func staleBlank(t *testing.T, config commitlog.Config, stale func(at, reach int64) []byte, filler bool) {
	config.CheckpointInterval, config.CheckpointBytes = time.Hour, 1<<20
	const lost, count = 3, 60
	b := newBook(t, config)
	b.lives(func() error {
		var places []commitlog.Placed
		for n := range count {
			placed, err := b.store.Append(makeMessage("orders", 0, n))
			if err != nil {
				return err
			}
			places = append(places, placed)
		}
		at := places[lost].Physical
		next := places[lost+1].Physical
		if filler {
			next = config.FileBytes
		}
		f, err := b.logFile(0)
		if err != nil {
			return err
		}
		p := stale(at, next-at)
		if err := errors.Join(host.WriteFullAt(f, p, at), f.Sync(), f.Close()); err != nil {
			return err
		}
		b.node.Crash(sim.KillProcess())
		return nil
	}, func() error {
		b.sent["orders/0"] = lost
		if err := b.mustHold(true); err != nil {
			return err
		}
		for range count {
			if err := b.add("orders", 0); err != nil {
				return err
			}
		}
		b.node.Crash(sim.KillProcess())
		return nil
	}, func() error { return b.mustHold(true) })
}

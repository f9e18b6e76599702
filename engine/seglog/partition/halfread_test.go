package partition_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/sim"
)

// TestASegmentThatAStartCouldNotReadToItsEndIsNotSealed: the full segment before the newest has no index files yet, and a read of it fails at
// a start. The partition has failed then and is not open for a moment, whichever task comes first; the next start finds
// all that was acknowledged.
func TestASegmentThatAStartCouldNotReadToItsEndIsNotSealed(t *testing.T) {
	config := smallConfig()
	config.UnsealedMax = 2
	for seed := range uint64(40) {
		w := sim.New(sim.Config{Seed: seed, LockYieldPermille: 500})
		n := w.NewNode("node")
		l, number, reads := newLog(), 0, 0
		n.Disk(volume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			switch {
			case number == 1 && op.Kind == sim.DiskCreate && strings.Contains(op.Path, "index"):
				return sim.DiskEffect{Stuck: true}
			case number == 2 && op.Kind == sim.DiskRead && op.Path == "0/0.log" && op.Offset > config.SegmentBytes/2:
				if reads++; reads > 1 { // the first one is of the record that the checkpoint ends with
					return sim.DiskEffect{Err: host.ErrIO}
				}
			}
			return sim.DiskEffect{}
		})
		boot := func(h host.Host) error {
			number++
			life, err := begin(h, config)
			switch number {
			case 1:
				w.At(time.Second, func() { n.Crash(sim.KillProcess()) })
				for err == nil {
					err = l.append(life.p, 1)
				}
			case 2:
				if err == nil {
					t.Errorf("seed %d: the start has read what cannot be read", seed)
				}
				h.Root().Sleep(time.Second)
			default:
				return errors.Join(err, l.check(life.p), life.end())
			}
			n.Crash(sim.KillProcess())
			return nil
		}
		n.OnExit(func(err error, _ bool) {
			if err != nil {
				t.Errorf("seed %d, life %d: %v", seed, number, err)
			}
			if number < 3 {
				w.At(time.Millisecond, func() { n.Start(boot) })
			}
		})
		n.Start(boot)
		if v := w.Run(time.Hour); v.Failed() || reads < 2 || number != 3 {
			t.Errorf("seed %d: %d lives, %d reads of the log's end: %v", seed, number, reads, v)
		}
	}
}

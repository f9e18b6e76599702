package sim

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"lakebed/engine/host"
)

// Goal: looking on changes nothing, and shows what the events carry: the bytes of writes, sends and receives, which two
// ends belong together, and how operations on a disk ended.
func TestLookingOnShowsBytesAndChangesNothing(t *testing.T) {
	broken := errors.New("broken")
	var kinds []SightKind
	var sent, received, written []byte
	var ends int
	var failed error
	conns := map[int64]bool{}
	run := func(look func(*Sight)) Verdict {
		w := New(Config{Seed: 1, Look: look})
		serve(t, w, func(_ host.Host, c host.Conn) {
			for got := 0; got < len("over the wire"); {
				n, err := c.Read(make([]byte, 64))
				check(t, err)
				got += n
			}
		})
		n := start(w, "a", func(h host.Host) {
			writeFile(t, volume(t, h), "f", "to the disk")
			if _, err := volume(t, h).Create("g"); !errors.Is(err, broken) {
				t.Errorf("created: %v", err)
			}
			check(t, send(dialB(t, h), "over the wire"))
			h.Root().Sleep(time.Second) // until it has arrived
		})
		n.Disk("data").SetFaults(func(op *DiskOp) DiskEffect {
			if op.Path == "g" {
				return DiskEffect{Err: broken}
			}
			return DiskEffect{}
		})
		return finish(t, w)
	}
	plain := run(nil)
	seen := run(func(s *Sight) {
		kinds = append(kinds, s.Kind)
		switch s.Kind {
		case SightSend:
			sent, conns[s.Conn] = append(sent, bytes.Join(s.Data, nil)...), true
		case SightReceive:
			received, conns[s.Conn] = append(received, bytes.Join(s.Data, nil)...), true
		case SightDisk:
			written = append(written, bytes.Join(s.Data, nil)...)
		case SightDiskEnd:
			ends++
			failed = errors.Join(failed, s.Err)
		}
	})
	if plain.Hash != seen.Hash || plain.Events != seen.Events {
		t.Errorf("looking on changes the trace: %x after %d events, %x after %d", plain.Hash, plain.Events, seen.Hash, seen.Events)
	}
	if string(sent) != "over the wire" || string(received) != "over the wire" || string(written) != "to the disk" {
		t.Errorf("sent %q, received %q, wrote %q", sent, received, written)
	}
	if len(conns) != 1 || conns[0] || !errors.Is(failed, broken) || ends < 3 {
		t.Errorf("connections %v, %d ends of disk operations with %v", conns, ends, failed)
	}
	for _, k := range kinds {
		if k == "step" || k == "callback" {
			t.Fatalf("the scheduler's own events are shown: %v", kinds)
		}
	}
}

package experiments

import (
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/sim"
)

// TestAnOpenLoadSeesAStallInAllAppendsThatWereDue, and not only in the one that met it.
func TestAnOpenLoadSeesAStallInAllAppendsThatWereDue(t *testing.T) {
	const stall = 400 * time.Millisecond
	o := virtualOptions{seed: 1, bookies: 3, client: virtualClientConfig()}
	err := inVirtual(o, func(v *virtual, h host.Host, c *client.Client) error {
		for i := range v.bookies {
			v.later(500*time.Millisecond, func() { v.world.Net().Stall(virtualClient, virtualBookie(i), stall) })
		}
		found, err := appendOpen(h, c, ledger.Quorum{Ensemble: 3, Write: 3, Ack: 2}, openLoad{rate: 200, appends: 400, payload: 10})
		if err != nil {
			return err
		}
		// 400 ms are a fifth of the two seconds: the latencies at and above the ninth tenth are of appends that waited.
		if p90 := found.quantile(0.9); p90 < stall/4 || found.quantile(1) < stall*9/10 || found.gap < stall*9/10 {
			t.Errorf("p90 %v, longest %v, gap %v", p90, found.quantile(1), found.gap)
		}
		if p50 := found.quantile(0.5); p50 > 20*time.Millisecond || found.acked != 400 {
			t.Errorf("p50 %v, %d acknowledged", p50, found.acked)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAClosedLoadMeasuresWhatTheSlowestDeviceTakes.
func TestAClosedLoadMeasuresWhatTheSlowestDeviceTakes(t *testing.T) {
	const rate = 2 << 20
	o := virtualOptions{seed: 1, bookies: 3, client: virtualClientConfig()}
	err := inVirtual(o, func(v *virtual, h host.Host, c *client.Client) error {
		if err := v.capJournals(h, rate); err != nil {
			return err
		}
		a := stripeArm{slowVirtual, ledger.Quorum{Ensemble: 3, Write: 3, Ack: 3}, 1, 4 << 10}
		got, err := a.write(h, c, a.load(500*time.Millisecond, time.Second))
		if got < rate*0.8 || got > rate*1.15 {
			t.Errorf("%.0f bytes a second through devices of %d", got, rate)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestARollingLoadNoticesWhatIsLost: an entry that is not what was acknowledged is a loss.
func TestARollingLoadNoticesWhatIsLost(t *testing.T) {
	o := virtualOptions{seed: 1, bookies: 4, client: failureClient(virtualClientConfig())}
	err := inVirtual(o, func(v *virtual, h host.Host, c *client.Client) error {
		load := failureArm{slowVirtual, byCrash, 1, anotherLedger}.load()
		load.created = func(w *client.Writer) {
			victim := v.number(w.Metadata().Fragments[0].Ensemble[0])
			v.later(time.Second, func() { v.bookies[victim].Crash(sim.KillProcess()) })
		}
		found, err := load.run(h, c)
		if err != nil {
			return err
		}
		if len(found.ledgers) < 2 || len(found.acks) != len(found.placed) {
			t.Errorf("%d ledgers, %d of %d acknowledged", len(found.ledgers), len(found.acks), len(found.placed))
		}
		if lost, err := found.lost(c); lost != 0 || err != nil {
			t.Errorf("%d lost, %v", lost, err)
		}
		found.placed[7].entry, found.placed[8].entry = found.placed[8].entry, found.placed[7].entry
		found.placed[9].entry += 1_000_000
		if lost, err := found.lost(c); lost != 3 || err != nil {
			t.Errorf("%d lost of three that are not where they were acknowledged, %v", lost, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAWorldThatFailsIsAnError, as is a course that does.
func TestAWorldThatFailsIsAnError(t *testing.T) {
	o := virtualOptions{seed: 1, bookies: 3, client: virtualClientConfig()}
	if err := inVirtual(o, func(*virtual, host.Host, *client.Client) error { return errDown }); err == nil {
		t.Error("a course that fails is no error")
	}
	if err := inVirtual(o, func(*virtual, host.Host, *client.Client) error { panic("planted") }); err == nil {
		t.Error("a panic is no error")
	}
}

package experiments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
	"lakebed/reports"
	"lakebed/sim"
)

// a bookie that fails gives a new fragment, a short pause, and no loss.

// failing is how a bookie fails.
type failing string

const (
	byCrash     failing = "crash"     // the process ends, the disk stays
	byPause     failing = "pause"     // it stands still
	byPartition failing = "partition" // the writer does not reach it, the metadata store does
	bySlowness  failing = "slow disk" // a sync takes longer than the writer waits
	byStop      failing = "stop"      // on this machine: it ends in good order
	byStuckDisk failing = "stuck disk"
)

// reaction is what the writer does about it.
type reaction string

const (
	newFragment   reaction = "new fragment"
	delayed       reaction = "new fragment, delayed"
	anotherLedger reaction = "new ledger"
)

const (
	failureTimeout  = 500 * time.Millisecond // AddTimeout and ReadTimeout
	failureAfter    = time.Second
	failureLasts    = 2 * time.Second
	failureLength   = 4 * time.Second
	failureRate     = 200.0
	failureLedgers  = 50
	failurePause    = 100 * time.Millisecond // before a writer tries another ledger
	failureSlowness = 4000                   // times the sync of an SSD
)

var failureQuorum = ledger.Quorum{Ensemble: 3, Write: 3, Ack: 2}

const (
	figurePause     = "longest pause"
	figureResent    = "entries sent again"
	figureFragments = "fragments"
	figureLedgers   = "ledgers"
	figureMetadata  = "writes of ledgers' metadata"
	figureLost      = "acknowledged entries lost"
	figureAppended  = "appends acknowledged"
)

// failureArm is what one run varies.
type failureArm struct {
	world  string
	how    failing
	spares int
	does   reaction
}

func (a failureArm) cell() string {
	return fmt.Sprintf("%s/%s/%d/%s", a.world, a.how, a.spares, a.does)
}

func (a failureArm) load() rollingLoad {
	o := client.DefaultCreateOptions()
	o.Quorum, o.Writer = failureQuorum, onFailure(a.does == delayed, a.does == anotherLedger)
	return rollingLoad{create: o, rate: failureRate, length: failureLength, ledgers: failureLedgers, pause: failurePause}
}

func failureClient(c client.Config) client.Config {
	c.AddTimeout, c.ReadTimeout, c.SpeculativeReadTimeout = failureTimeout, failureTimeout, failureTimeout/2
	return c
}

func measureBookieFailure(ctx context.Context, r *run) error {
	for _, how := range []failing{byCrash, byPause, byPartition, bySlowness} {
		for _, spares := range either(r, []int{0, 1, 2, 3}, []int{0, 1}) {
			for _, does := range []reaction{newFragment, delayed, anotherLedger} {
				for seed := range either(r, uint64(5), 1) {
					if ctx.Err() != nil {
						return ctx.Err()
					}
					a := failureArm{slowVirtual, how, spares, does}
					if err := r.failInWorld(a, r.Seed+seed); err != nil {
						return fmt.Errorf("%s: %w", a.cell(), err)
					}
				}
			}
		}
		r.say("%s in the simulator", how)
	}
	return r.failOnThisMachine(ctx)
}

// failInWorld runs one arm in a world.
func (r *run) failInWorld(a failureArm, seed uint64) error {
	resent := 0
	o := virtualOptions{
		seed: seed, bookies: failureQuorum.Ensemble + a.spares, client: failureClient(virtualClientConfig()),
		onMark: func(_ *sim.Node, e host.Event) {
			if e.Name == client.PointResent {
				resent++
			}
		},
	}
	return inVirtual(o, func(v *virtual, h host.Host, c *client.Client) error {
		load, writes := a.load(), 0
		load.created = func(w *client.Writer) {
			victim := v.number(w.Metadata().Fragments[0].Ensemble[0])
			v.later(failureAfter, func() {
				writes = len(v.oracle.Writes())
				v.fail(victim, a.how)
			})
			v.later(failureAfter+failureLasts, func() { v.mend(victim, a.how) })
		}
		found, err := load.run(h, c)
		if err != nil {
			return err
		}
		lost, err := found.lost(c)
		if err != nil {
			return err
		}
		g := r.sampleFailure(a, found, lost)
		g.sample(count(figureResent, reports.LowerBetter), float64(resent))
		g.sample(count(figureMetadata, reports.LowerBetter), float64(v.ledgerWrites(writes)))
		return nil
	})
}

// fail breaks a bookie, between tasks.
func (v *virtual) fail(i int, how failing) {
	switch how {
	case byCrash:
		v.bookies[i].Crash(sim.KillProcess())
	case byPause:
		v.bookies[i].Pause()
	case byPartition:
		v.world.Net().Partition(virtualClient, virtualBookie(i), false)
	case bySlowness:
		v.bookies[i].Disk(bookie.JournalVolume).SetProfile(slowedJournals(failureSlowness, func(int) bool { return true })(i))
	}
}

// mend takes fail back.
func (v *virtual) mend(i int, how failing) {
	switch how {
	case byCrash:
		v.start(i)
	case byPause:
		v.bookies[i].Resume()
	case byPartition:
		v.world.Net().Heal(virtualClient, virtualBookie(i))
	case bySlowness:
		v.bookies[i].Disk(bookie.JournalVolume).SetProfile(sim.SSD())
	}
}

// ledgerWrites counts the writes of ledgers' metadata since the store had seen so many writes.
func (v *virtual) ledgerWrites(since int) (writes int) {
	layout := metadata.Layout{Root: metadata.DefaultRoot}
	for _, w := range v.oracle.WritesSince(since) {
		if _, ok := layout.ParseLedgerKey(w.Key); ok && !w.Parent {
			writes++
		}
	}
	return writes
}

// sampleFailure puts what a run showed into its arm.
func (r *run) sampleFailure(a failureArm, found *rolled, lost int) *cell {
	clock := clockOf(a.world)
	note := fmt.Sprintf("3/3/2, %g appends a second, one bookie of the ensemble away for %v; the writer waits %v for an answer.",
		failureRate, failureLasts, failureTimeout)
	c := r.group(slowGroup(a.world), note).cell(a.cell(), "failure", string(a.how), "spare bookies", fmt.Sprint(a.spares), "writer", string(a.does))
	c.sample(quantity{figurePause, "ms", clock, reports.LowerBetter}, millis(found.pause()))
	c.sample(count(figureFragments, reports.NeitherBetter), float64(found.fragments))
	c.sample(count(figureLedgers, reports.NeitherBetter), float64(len(found.ledgers)))
	c.sample(count(figureAppended, reports.HigherBetter), float64(len(found.acks)))
	c.sample(count(figureLost, reports.LowerBetter), float64(lost))
	return c
}

// failOnThisMachine lets reactions and failures take turns, with one spare bookie.
func (r *run) failOnThisMachine(ctx context.Context) error {
	const spares = 1
	o := realOptions{bookies: failureQuorum.Ensemble + spares, client: failureClient(client.DefaultConfig())}
	return r.inReal(ctx, o, func(ctx context.Context, c *real) error {
		for round := range either(r, 5, 1) {
			for _, how := range either(r, []failing{byStop, byStuckDisk}, []failing{byStuckDisk}) {
				for _, does := range either(r, []reaction{newFragment, delayed, anotherLedger}, []reaction{newFragment}) {
					if ctx.Err() != nil {
						return ctx.Err()
					}
					a := failureArm{slowReal, how, spares, does}
					if err := r.failReally(ctx, c, a); err != nil {
						return fmt.Errorf("%s: %w", a.cell(), err)
					}
				}
			}
			r.say("round %d on this machine", round+1)
		}
		return nil
	})
}

func (r *run) failReally(ctx context.Context, c *real, a failureArm) error {
	load, broken := a.load(), make(chan error, 1)
	load.created = func(w *client.Writer) {
		victim := c.number(w.Metadata().Fragments[0].Ensemble[0])
		go func() { broken <- c.failAndMend(ctx, victim, a.how) }()
	}
	found, err := load.run(c.client.Host, c.client.Client)
	if len(found.ledgers) > 0 {
		err = errors.Join(err, <-broken)
	}
	if err != nil {
		return err
	}
	lost, err := found.lost(c.client.Client)
	if err != nil {
		return err
	}
	r.sampleFailure(a, found, lost)
	return nil
}

// failAndMend breaks a bookie after a while, and takes it back.
func (c *real) failAndMend(ctx context.Context, i int, how failing) error {
	time.Sleep(failureAfter)
	if how == byStuckDisk {
		c.limits[i].stick()
		time.Sleep(failureLasts)
		c.limits[i].release()
		return nil
	}
	if err := c.StopBookie(i); err != nil {
		return err
	}
	time.Sleep(failureLasts)
	return c.StartBookie(ctx, i)
}

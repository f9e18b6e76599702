package experiments

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/reports"
)

// Qa below Qw hides a slow replica.

const (
	slowVirtual = "virtual"
	slowReal    = "real"
)

// slowShapes are the ensembles of the claim: one answer may be missing, none may, and one may in a striped ledger.
func slowShapes() []ledger.Quorum {
	return []ledger.Quorum{{Ensemble: 3, Write: 3, Ack: 2}, {Ensemble: 3, Write: 3, Ack: 3}, {Ensemble: 5, Write: 3, Ack: 2}}
}

// slowFactor is the one that the hypothesis speaks of.
const slowFactor = 10

func slowCell(world string, q ledger.Quorum, factor int) string {
	return fmt.Sprintf("%s/%s/%d", world, shape(q), factor)
}

func shape(q ledger.Quorum) string { return fmt.Sprintf("%d/%d/%d", q.Ensemble, q.Write, q.Ack) }

func measureSlowReplica(ctx context.Context, r *run) error {
	if err := r.slowInWorlds(ctx); err != nil {
		return err
	}
	if err := r.slowOnThisMachine(ctx); err != nil {
		return err
	}
	for _, world := range []string{slowVirtual, slowReal} {
		clock := clockOf(world)
		r.lines(r.Seed, reports.Plot{
			Name: "p99-" + world, Title: fmt.Sprintf("Latency of appends with one slow bookie, p99 (%s clock)", clock),
			X: reports.Axis{Label: "one bookie's journal syncs slower by", Unit: "×", Log: true},
			Y: reports.Axis{Label: "p99 of an append", Unit: "ms", Log: true},
		}, slowGroup(world), quantity{name: "p99"}, "shape", func(labels map[string]string) float64 {
			x, _ := strconv.ParseFloat(strings.TrimSuffix(labels["slowed"], "×"), 64) // a label of ours
			return x
		})
	}
	return nil
}

func clockOf(world string) reports.Clock {
	if world == slowReal {
		return reports.ClockWall
	}
	return reports.ClockVirtual
}

func slowGroup(world string) string {
	if world == slowReal {
		return "On this machine, wall clock"
	}
	return "In the simulator, virtual time"
}

// sampleSlow adds what a load found to its arm.
func (r *run) sampleSlow(world string, q ledger.Quorum, factor int, found loaded) {
	note := "Open loop; latency from the moment an append was due. One bookie of the ensemble has a journal that syncs slower."
	c := r.group(slowGroup(world), note).cell(slowCell(world, q, factor), "shape", shape(q), "slowed", times(factor))
	clock := clockOf(world)
	c.sample(quantity{"p50", "ms", clock, reports.LowerBetter}, millis(found.quantile(0.5)))
	c.sample(quantity{"p99", "ms", clock, reports.LowerBetter}, millis(found.quantile(0.99)))
	c.sample(quantity{"p99.9", "ms", clock, reports.LowerBetter}, millis(found.quantile(0.999)))
}

func (r *run) slowFactors() []int { return either(r, []int{1, 3, 10, 30, 100}, []int{1, slowFactor}) }

// slowInWorlds has one world for each seed, shape and factor.
func (r *run) slowInWorlds(ctx context.Context) error {
	load := openLoad{rate: 500, appends: either(r, 3000, 400), warm: 100, payload: 100}
	for round := range either(r, 5, 2) {
		for _, q := range slowShapes() {
			for _, factor := range r.slowFactors() {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				var found loaded
				err := inVirtual(virtualOptions{
					seed: r.Seed + uint64(round), bookies: q.Ensemble, client: virtualClientConfig(),
					journal: slowedJournals(factor, func(i int) bool { return i == 0 }),
				}, func(_ *virtual, h host.Host, c *client.Client) (err error) {
					found, err = appendOpen(h, c, q, load)
					return err
				})
				if err != nil {
					return fmt.Errorf("%s with a bookie slowed %s: %w", shape(q), times(factor), err)
				}
				r.sampleSlow(slowVirtual, q, factor, found)
			}
		}
		r.say("round %d in the simulator", round+1)
	}
	return nil
}

// appendOpen creates a ledger, puts an open load on it and closes it.
func appendOpen(h host.Host, c *client.Client, q ledger.Quorum, load openLoad) (loaded, error) {
	o := client.DefaultCreateOptions()
	o.Quorum = q
	w, err := c.Create(o)
	if err != nil {
		return loaded{}, err
	}
	found, err := load.run(h, w)
	return found, errors.Join(err, w.Close())
}

// slowOnThisMachine has a cluster for each size of ensemble; shapes and factors take turns in it.
func (r *run) slowOnThisMachine(ctx context.Context) error {
	rate := 500.0
	load := openLoad{rate: rate, appends: either(r, 750, 100), warm: either(r, 150, 20), payload: 100}
	rounds := either(r, 5, 1)
	for _, ensemble := range []int{3, 5} {
		err := r.inReal(ctx, realOptions{bookies: ensemble, client: client.DefaultConfig()}, func(ctx context.Context, c *real) error {
			for round := range rounds {
				for _, q := range slowShapes() {
					if q.Ensemble != ensemble {
						continue
					}
					if err := r.slowRound(ctx, c, q, load); err != nil {
						return err
					}
				}
				r.say("round %d of %d with %d bookies on this machine", round+1, rounds, ensemble)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) slowRound(ctx context.Context, c *real, q ledger.Quorum, load openLoad) error {
	for _, factor := range r.slowFactors() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.limits[0].factor.Store(int64(factor))
		found, err := appendOpen(c.client.Host, c.client.Client, q, load)
		if err != nil {
			return fmt.Errorf("%s with a bookie slowed %s: %w", shape(q), times(factor), err)
		}
		r.sampleSlow(slowReal, q, factor, found)
	}
	return nil
}

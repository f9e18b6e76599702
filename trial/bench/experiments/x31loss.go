package experiments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/commitlog"
	"lakebed/engine/host"
	"lakebed/reports"
	"lakebed/sim"
	"lakebed/sim/disk"
	"lakebed/trial/bench/stores"
)

// The second part of X-31: what a power cut takes of what was acknowledged, with each sync policy.

const (
	cutAppenders = 16
	cutPause     = 16 * time.Millisecond // of an appender, between two messages: about a thousand come a second
	cutEarliest  = 1500 * time.Millisecond
	cutSpread    = 2 * policyInterval // cuts fall on any moment of an interval
	cutPayload   = 256
)

// policyInterval is that of the mode interval in all stores, in both worlds. It is the default of two of them.
const policyInterval = 500 * time.Millisecond

const (
	figureLostAcked  = "acknowledged messages lost"
	figureLostWorlds = "worlds that lost any"
	figureLossReach  = "age of the oldest one lost"
)

func lossCell(kind stores.Kind, policy stores.Policy) string {
	return fmt.Sprintf("loss/%s/%s", kind, policy)
}

// measureLosses cuts the power of each store with each policy, in one world after the other.
func measureLosses(ctx context.Context, r *run) error {
	for seed := range either(r, uint64(12), 1) {
		for _, kind := range stores.Kinds() {
			for _, policy := range stores.Policies() {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				one := cutOff{run: r, kind: kind, policy: policy}
				if err := inLives(r.Seed+seed, one.prepare, one.append, one.count); err != nil {
					return fmt.Errorf("%s in mode %s: %w", kind, policy, err)
				}
			}
		}
		r.say("power cuts of world %d with all policies", seed+1)
	}
	return nil
}

// cutOff is one world: a store whose power is cut while it takes messages.
type cutOff struct {
	*run
	kind   stores.Kind
	policy stores.Policy
	acked  []ackedMessage
	cut    time.Duration // when it came, on the world's clock, as the acknowledgements
}

type ackedMessage struct {
	number int
	at     time.Duration
}

func (c *cutOff) prepare(l *lone) {
	for _, volume := range []string{datedVolume, commitlog.StoreVolume, bookie.JournalVolume, bookie.LedgerVolume} {
		l.node.Disk(volume).SetProfile(sim.SSD())
	}
	l.world.At(cutEarliest+time.Duration(l.random.Int64N(int64(cutSpread))), func() {
		c.cut = l.world.Elapsed()
		l.node.Crash(sim.PowerCut(disk.Drop))
	})
}

// append has appenders send messages until the power goes.
func (c *cutOff) append(l *lone, h host.Host) error {
	s, err := c.open(h)
	if err != nil {
		return err
	}
	appenders, pauses, next := h.Root().New("appenders"), h.Rand("pauses"), 0
	for range cutAppenders {
		appenders.Go("appender", func() {
			for err == nil && appenders.Sleep(time.Duration(pauses.Int64N(2*int64(cutPause)))) {
				number := next
				next++
				if failed := s.append(number); failed != nil {
					err = failed
					return
				}
				c.acked = append(c.acked, ackedMessage{number, l.world.Elapsed()})
			}
		})
	}
	appenders.Wait()
	return errors.Join(err, s.close(), errors.New("the power did not go"))
}

// count looks for what was acknowledged, and tells what is gone.
func (c *cutOff) count(_ *lone, h host.Host) error {
	s, err := c.open(h)
	if err != nil {
		return fmt.Errorf("start after the power cut: %w", err)
	}
	held, err := s.held()
	if err = errors.Join(err, s.close()); err != nil {
		return err
	}
	lost, reach := 0, time.Duration(0)
	for _, m := range c.acked {
		if !held[m.number] {
			lost++
			reach = max(reach, c.cut-m.at)
		}
	}
	cell := c.group(lossGroup, lossNote).cell(lossCell(c.kind, c.policy), "store", string(c.kind), "sync", c.policy.String())
	cell.sample(count("acknowledged", reports.NeitherBetter), float64(len(c.acked)))
	cell.sample(count(figureLostAcked, reports.LowerBetter), float64(lost))
	cell.sample(quantity{figureLossReach, "ms", reports.ClockVirtual, reports.LowerBetter}, millis(reach))
	cell.add(count(figureLostWorlds, reports.LowerBetter), lost > 0)
	return nil
}

const (
	lossGroup = "What a power cut takes, simulated"
	lossNote  = "Samples are worlds: a thousand messages a second to one partition, and a power cut after 1.5 to 2.5 s that leaves nothing of what was not synced. No file rolls and no checkpoint falls due before it, which would sync besides."
)

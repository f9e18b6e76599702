package experiments

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog"
	"lakebed/reports"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// a partition keeps the order in which a producer sends.

const (
	orderedPartitions = 3
	orderedProducers  = 6
	orderedMessages   = 150 // of each producer
	orderedCrashes    = 3
	orderedManyUnder  = 4
	orderedPause      = 10 * time.Millisecond
	orderedFailOneIn  = 60 // of so many syncs one fails
	orderedCapacity   = 1 << 30
)

const (
	figureInverted = "messages out of order"
	figureTwiceIn  = "messages stored twice"
	figureGone     = "acknowledged messages gone"
	figureSent     = "messages sent"
	figureAgain    = "appends sent again"
)

// orderedArm is who chooses the partition, and how many appends of a producer are under way.
type orderedArm struct {
	named bool
	under int
}

func orderedArms() []orderedArm {
	return []orderedArm{{true, 1}, {false, 1}, {true, orderedManyUnder}, {false, orderedManyUnder}}
}

func (a orderedArm) chooser() string {
	if a.named {
		return "producer"
	}
	return "store"
}

func (a orderedArm) cell() string { return fmt.Sprintf("order/%s/%d", a.chooser(), a.under) }

func measureOrder(ctx context.Context, r *run) error {
	for seed := range either(r, uint64(30), 1) {
		for _, a := range orderedArms() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			o := &ordered{run: r, arm: a, acked: map[string]bool{}}
			lives := []life{o.work}
			for range orderedCrashes {
				lives = append(lives, o.work)
			}
			if err := inLives(r.Seed+seed, o.prepare, append(lives, o.verify)...); err != nil {
				return fmt.Errorf("%s: %w", a.cell(), err)
			}
		}
	}
	for _, scenario := range []string{armNamed, armBalanced} {
		s, err := r.campaign(ctx, campaignOptions{scenarios: []string{scenario}, seed: r.Seed, seeds: either(r, int64(500), 5)})
		if err != nil {
			return err
		}
		r.noteFailures(s)
		c := r.group("Trials", "Trials of a segment log under faults, judged by all of its checkers.").cell(scenario, "scenario", scenario)
		c.sample(count(figureSeeds, reports.NeitherBetter), float64(s.Seeds))
		c.sample(count(figureViolations, reports.LowerBetter), float64(s.Violations))
		c.sample(count(figureOperations, reports.NeitherBetter), float64(s.ClientOperations))
	}
	return nil
}

// ordered is one world: what its producers have sent outlives the store's processes.
type ordered struct {
	*run
	arm     orderedArm
	started [orderedProducers]int // numbers below were taken by a sender of this life
	acked   map[string]bool
	again   int
	life    int
	made    bool // the topic is there: syncs may fail
}

func orderedName(producer, number int) string { return fmt.Sprintf("%d/%d", producer, number) }

func (o *ordered) config() seglog.Config {
	c := smallSegments()
	c.Volumes = []string{ailingVolume(0), ailingVolume(1)}
	c.FilesMax = 32
	c.ReadmitPause, c.ReadmitMax = 20*time.Millisecond, 100*time.Millisecond
	return c
}

func (o *ordered) prepare(l *lone) {
	failing := sim.Stream(l.random.Uint64(), "experiment/order")
	for _, v := range o.config().Volumes {
		// Without padding the store needs a device that spares what is durable when a write beside it is torn: its promise.
		l.node.Disk(v).Format(disk.Config{Capacity: orderedCapacity, SparesSynced: true})
		l.node.Disk(v).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if o.made && op.Kind == sim.DiskSync && failing.IntN(orderedFailOneIn) == 0 && o.life <= orderedCrashes {
				return sim.DiskEffect{Err: host.ErrIO}
			}
			return sim.DiskEffect{}
		})
	}
}

// work has the producers send until a crash comes, or in the last life until everything is acknowledged.
func (o *ordered) work(l *lone, h host.Host) error {
	o.life++
	o.started = [orderedProducers]int{}
	if o.life <= orderedCrashes {
		l.world.At(time.Duration(100+l.random.IntN(500))*time.Millisecond, func() {
			if o.life == orderedCrashes {
				l.node.Crash(sim.PowerCut(disk.Mixed))
				return
			}
			l.node.Crash(sim.KillProcess())
		})
	}
	return withSegments(h, o.config(), func(s *seglog.Store) error {
		if o.life == 1 {
			if err := s.CreateTopic(datedTopic, seglog.TopicConfig{Partitions: orderedPartitions}); err != nil {
				return err
			}
			o.made = true
		}
		producers := h.Root().New("producers")
		for producer := range orderedProducers {
			for range o.arm.under {
				producers.Go("sender", func() { o.send(producers, h, s, producer) })
			}
		}
		producers.Wait()
		if o.life <= orderedCrashes {
			h.Root().Sleep(time.Hour) // until the crash
		}
		return nil
	})
}

// send sends numbers of a producer, each until it is acknowledged.
func (o *ordered) send(g host.Group, h host.Host, s *seglog.Store, producer int) {
	for {
		number, ok := o.take(producer)
		if !ok {
			return
		}
		name := orderedName(producer, number)
		for !o.acked[name] {
			where := seglog.Balanced
			if o.arm.named {
				where = producer % orderedPartitions
			}
			if _, err := s.Append(datedTopic, where, lineAt(h, name)); err == nil {
				o.acked[name] = true
				break
			}
			o.again++
			if !g.Sleep(orderedPause) {
				return
			}
		}
		if !g.Sleep(orderedPause) {
			return
		}
	}
}

// take is the next number of a producer: the smallest that is not acknowledged and that nobody of this life has.
func (o *ordered) take(producer int) (int, bool) {
	for n := o.started[producer]; n < orderedMessages; n++ {
		if !o.acked[orderedName(producer, n)] {
			o.started[producer] = n + 1
			return n, true
		}
	}
	return 0, false
}

// verify reads what is there, and counts what is out of order.
func (o *ordered) verify(l *lone, h host.Host) error {
	inverted, twice, found := 0, 0, map[string]bool{}
	err := withSegments(h, o.config(), func(s *seglog.Store) error {
		for number := range orderedPartitions {
			_, texts, err := textsOf(s, datedTopic, number)
			if err != nil {
				return err
			}
			latest, here := map[string]int{}, map[string]bool{}
			for _, text := range texts {
				producer, digits, _ := strings.Cut(text, "/")
				n, err := strconv.Atoi(digits)
				if err != nil {
					return fmt.Errorf("message %q is none of ours", text)
				}
				if found[text] {
					twice++
				}
				if before, any := latest[producer]; any && n < before && !here[text] {
					inverted++
				}
				latest[producer] = max(latest[producer], n)
				found[text], here[text] = true, true
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	gone := 0
	for name := range o.acked {
		if !found[name] {
			gone++
		}
	}
	c := o.group("Order of a producer's messages", "Samples are worlds.").
		cell(o.arm.cell(), "who chooses", o.arm.chooser(), "appends under way", strconv.Itoa(o.arm.under))
	c.sample(count(figureSent, reports.NeitherBetter), orderedProducers*orderedMessages)
	c.sample(count(figureAgain, reports.NeitherBetter), float64(o.again))
	c.sample(count(figureTwiceIn, reports.NeitherBetter), float64(twice))
	c.sample(count(figureInverted, reports.LowerBetter), float64(inverted))
	c.sample(count(figureGone, reports.LowerBetter), float64(gone))
	return nil
}

// Bounds of the verdict on order.
const (
	orderedWorlds = 20
	orderedTrials = 500
)

// judgeOrder: with one append under way nothing is out of order, and trials are clean; with four some is.
func judgeOrder(r *reports.Result) reports.Verdict {
	var j judgement
	for _, a := range orderedArms() {
		inverted, ok := j.figureOf(r, a.cell(), figureInverted)
		gone, found := j.figureOf(r, a.cell(), figureGone)
		if !ok || !found {
			continue
		}
		if total(&gone) > 0 {
			j.refute("%s acknowledged messages are gone, %s", short(total(&gone)), a.cell())
		}
		switch {
		case a.under == 1:
			j.none("out of order, one under way, chosen by the "+a.chooser(), total(&inverted))
			if len(inverted.Samples) < orderedWorlds {
				j.leaveOpen("%d worlds, and it takes %d", len(inverted.Samples), orderedWorlds)
			}
		case total(&inverted) == 0:
			j.leaveOpen("four under way, chosen by the %s, show nothing: the load is weak", a.chooser())
		default:
			j.support("the control of four under way, chosen by the %s, shows %s", a.chooser(), short(total(&inverted)))
		}
	}
	for _, scenario := range []string{armNamed, armBalanced} {
		bad, ok := j.figureOf(r, scenario, figureViolations)
		seeds, found := j.figureOf(r, scenario, figureSeeds)
		if !ok || !found {
			continue
		}
		j.none("violations of "+scenario, total(&bad))
		if total(&seeds) < orderedTrials {
			j.leaveOpen("%s trials of %s, and it takes %d", short(total(&seeds)), scenario, orderedTrials)
		}
	}
	return j.verdict()
}

package experiments

import (
	"slices"
	"testing"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/consumer"
	"lakebed/engine/seglog/partition"
	"lakebed/reports"
)

// constant are so many samples of one value.
func constant(v float64, n int) []float64 { return slices.Repeat([]float64{v}, n) }

func TestWrongLookUpsDecide(t *testing.T) {
	looked := func(recorded, clock, copies float64, worlds int) *made {
		m := &made{}
		for _, c := range circumstances() {
			m.put(datedCell(c, partition.ByRecordedTime), figureWrong, constant(recorded, worlds)...)
			m.put(datedCell(c, partition.ByRecordedTime), figureSeeks, constant(datedSeeks, worlds)...)
		}
		for c, wrong := range map[circumstance]float64{clockBack: clock, copiedFiles: copies} {
			m.put(datedCell(c, partition.ByModification), figureWrong, constant(wrong, worlds)...)
			m.put(datedCell(c, partition.ByModification), figureSeeks, constant(datedSeeks, worlds)...)
		}
		return m
	}
	hold(t, judgeTimeRules,
		judged{"only modification times err", reports.Confirmed, looked(0, 20, 40, 30)},
		judged{"recorded times err", reports.Refuted, looked(1, 20, 40, 30)},
		judged{"clock steps do no harm", reports.Refuted, looked(0, 0, 40, 30)},
		judged{"copies do no harm", reports.Refuted, looked(0, 20, 0, 30)},
		judged{"few look-ups", reports.Undecided, looked(0, 20, 40, 3)},
	)
}

func TestEjectionsDecide(t *testing.T) {
	ejections := func(change map[string]float64, worlds int) *made {
		m := &made{}
		figures := map[string]float64{
			figureLostHere: 0, figureLostThere: 0, figureMisplaced: 0, figureNever: 0,
			figureEjected: 1000, figureBack: 3000, figureBalance: 1.01,
		}
		for name, v := range change {
			figures[name] = v
		}
		for _, a := range ailments() {
			for name, v := range figures {
				m.put(ailingCell(a), name, constant(v, worlds)...)
			}
		}
		return m
	}
	with := func(name string, v float64) *made { return ejections(map[string]float64{name: v}, 12) }
	hold(t, judgeEjection,
		judged{"in time, and nothing lost", reports.Confirmed, ejections(nil, 12)},
		judged{"a loss", reports.Refuted, with(figureLostHere, 1)},
		judged{"a loss on the failed disk", reports.Refuted, with(figureLostThere, 1)},
		judged{"an ejected directory acknowledges", reports.Refuted, with(figureMisplaced, 1)},
		judged{"never ejected", reports.Refuted, with(figureNever, 1)},
		judged{"ejected late", reports.Refuted, with(figureEjected, 3100)},
		judged{"taken back late", reports.Refuted, with(figureBack, 11_000)},
		judged{"one has it all", reports.Refuted, with(figureBalance, 2)},
		judged{"few worlds", reports.Undecided, ejections(nil, 2)},
	)
}

func TestOrdersDecide(t *testing.T) {
	orders := func(one, four, gone, violations float64, worlds int) *made {
		m := &made{}
		for _, a := range orderedArms() {
			inverted := one
			if a.under > 1 {
				inverted = four
			}
			m.put(a.cell(), figureInverted, constant(inverted, worlds)...)
			m.put(a.cell(), figureGone, constant(gone, worlds)...)
		}
		for _, scenario := range []string{armNamed, armBalanced} {
			m.put(scenario, figureViolations, violations)
			m.put(scenario, figureSeeds, float64(worlds)*30)
		}
		return m
	}
	hold(t, judgeOrder,
		judged{"in order, and the control is not", reports.Confirmed, orders(0, 5, 0, 0, 30)},
		judged{"out of order", reports.Refuted, orders(1, 5, 0, 0, 30)},
		judged{"acknowledged and gone", reports.Refuted, orders(0, 5, 1, 0, 30)},
		judged{"a trial is violated", reports.Refuted, orders(0, 5, 0, 1, 30)},
		judged{"the control is in order, too", reports.Undecided, orders(0, 0, 0, 0, 30)},
		judged{"few worlds", reports.Undecided, orders(0, 5, 0, 0, 2)},
	)
}

func TestQueuesDecide(t *testing.T) {
	queues := func(differ, gone, behind, ahead, left float64, crashes int) *made {
		m := &made{}
		for _, a := range queuedArms() {
			m.put(a.cell(), figureDiffer, constant(differ, crashes)...)
			m.put(a.cell(), figureBehind, constant(behind, crashes)...)
			m.put(a.cell(), figureAhead, constant(ahead, crashes)...)
			missing := gone
			if a.flush != commitlog.FlushGroup {
				missing = 9 // what a power cut may take
			}
			m.put(a.cell(), figureNotThere, constant(missing, crashes)...)
		}
		return m.put(lagCell(100), figureLagEnd, left, left)
	}
	hold(t, judgeQueues,
		judged{"exact", reports.Confirmed, queues(0, 0, 1, 1, 0, 12)},
		judged{"log and queues differ", reports.Refuted, queues(1, 0, 1, 1, 0, 12)},
		judged{"an acknowledged message is elsewhere", reports.Refuted, queues(0, 1, 1, 1, 0, 12)},
		judged{"dispatch does not catch up", reports.Refuted, queues(0, 0, 1, 1, 3, 12)},
		judged{"no queue was ahead", reports.Undecided, queues(0, 0, 1, 0, 0, 12)},
		judged{"few crashes", reports.Undecided, queues(0, 0, 1, 1, 0, 2)},
	)
}

func TestPollsDecide(t *testing.T) {
	polls := func(idle, late, waits, bounded, unbounded float64, rounds int) *made {
		m := &made{}
		one := func(world string, consumers, rate int, d consumer.Delivery, asked, p99 float64, samples int) {
			a := polledArm{world, d, polledPermits, consumers, rate, false}
			m.put(a.cell(), figureAsked, constant(asked, samples)...)
			m.put(a.cell(), "p99", constant(p99, samples)...)
		}
		for _, consumers := range polledConsumers() {
			for _, rate := range polledRates() {
				one(slowVirtual, consumers, rate, consumer.LongPoll, idle, late, 2)
				one(slowVirtual, consumers, rate, consumer.ShortPoll, 1, 900, 2)
			}
		}
		one(slowReal, polledRealConsumers, polledRealRate, consumer.LongPoll, 1, late, rounds)
		one(slowReal, polledRealConsumers, polledRealRate, consumer.ShortPoll, 1, 900, rounds)
		for i, v := range []float64{waits, bounded, unbounded} {
			m.put(slowPolls()[i].cell(), figureUnderWay, v, v)
		}
		return m
	}
	hold(t, judgePolls,
		judged{"fewer, and no later", reports.Confirmed, polls(0.07, 2, 0, 100, 2900, 5)},
		judged{"five times fewer", reports.Refuted, polls(0.2, 2, 0, 100, 2900, 5)},
		judged{"later", reports.Refuted, polls(0.07, 1200, 0, 100, 2900, 5)},
		judged{"long polls pile up", reports.Refuted, polls(0.07, 2, 3, 100, 2900, 5)},
		judged{"permits do not bound", reports.Refuted, polls(0.07, 2, 0, 130, 2900, 5)},
		judged{"the slow consumer is fast", reports.Undecided, polls(0.07, 2, 0, 100, 120, 5)},
		judged{"two rounds", reports.Undecided, polls(0.07, 2, 0, 100, 2900, 2)},
	)
}

func TestPeaksDecide(t *testing.T) {
	peaks := func(ratio, timeTakes, sizeTakes float64) *made {
		m := &made{}
		for _, k := range keepings() {
			for _, arrives := range arrivals() {
				lost := timeTakes
				if k == keepsSize {
					lost = sizeTakes
				}
				m.put(keptCell(k, arrives), figureByBound, ratio, ratio)
				m.put(keptCell(k, arrives), figureUnread, lost, lost)
			}
		}
		return m
	}
	hold(t, judgeRetention,
		judged{"within bounds, and size takes", reports.Confirmed, peaks(0.99, 0, 7)},
		judged{"above", reports.Refuted, peaks(1.01, 0, 7)},
		judged{"time takes", reports.Refuted, peaks(0.99, 1, 7)},
		judged{"size takes nothing", reports.Undecided, peaks(0.99, 0, 0)},
	)
}

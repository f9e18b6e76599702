package shrink

import (
	"time"

	"lakebed/faults"
	"lakebed/sim/disk"
)

// shortest is the least duration that is worth a try: anything shorter says the same.
const shortest = time.Millisecond

// simplerThan lists elements that are simpler than one in one respect, the simplest first. None is as simple as itself, so
// that taking the first that still fails comes to an end. Some may be invalid: those do not fail.
func simplerThan(e *faults.Element) []faults.Element {
	var list []faults.Element
	vary := func(change func(*faults.Element)) {
		one := *e
		change(&one)
		list = append(list, one)
	}
	for _, t := range simplerTriggers(e.Trigger) {
		vary(func(e *faults.Element) { e.Trigger = t })
	}
	p := &e.Params
	for _, d := range shorter(p.For) {
		vary(func(e *faults.Element) { e.Params.For = d })
	}
	for _, d := range shorter(p.RestartAfter) {
		vary(func(e *faults.Element) { e.Params.RestartAfter = d })
	}
	for _, d := range shorter(p.Delay) {
		vary(func(e *faults.Element) { e.Params.Delay = d })
	}
	for _, n := range fewer(p.Times) {
		vary(func(e *faults.Element) { e.Params.Times = n })
	}
	for _, n := range fewer(p.Every) {
		vary(func(e *faults.Element) { e.Params.Every = n })
	}
	for _, n := range fewer(p.Factor) {
		vary(func(e *faults.Element) { e.Params.Factor = n })
	}
	for _, n := range fewer(p.Length) {
		vary(func(e *faults.Element) { e.Params.Length = n })
	}
	if e.Kind == faults.PowerCut {
		for _, s := range []disk.Survival{disk.Keep, disk.Drop} {
			if s < p.Survival {
				vary(func(e *faults.Element) { e.Params.Survival = s })
			}
		}
	}
	return list
}

func simplerTriggers(t faults.Trigger) []faults.Trigger {
	var list []faults.Trigger
	switch {
	case t.Visit != nil:
		visit := func(nth int64, after time.Duration) {
			moved := *t.Visit
			moved.Nth, moved.After = nth, after
			list = append(list, faults.Trigger{Visit: &moved})
		}
		for _, after := range earlier(t.Visit.After) {
			visit(t.Visit.Nth, after)
		}
		for _, n := range fewer(t.Visit.Nth) {
			visit(n, t.Visit.After)
		}
	case t.Operation != nil:
		operation := func(nth int64, after time.Duration) {
			moved := *t.Operation
			moved.Nth, moved.After = nth, after
			list = append(list, faults.Trigger{Operation: &moved})
		}
		for _, after := range earlier(t.Operation.After) {
			operation(t.Operation.Nth, after)
		}
		for _, n := range fewer(t.Operation.Nth) {
			operation(n, t.Operation.After)
		}
	default:
		for _, at := range earlier(t.At) {
			list = append(list, faults.Trigger{At: at})
		}
	}
	return list
}

// earlier lists the begin of the world, and the time itself in round numbers.
func earlier(at time.Duration) []time.Duration {
	var list []time.Duration
	last := time.Duration(-1)
	for _, d := range []time.Duration{0, at.Truncate(100 * time.Millisecond), at.Truncate(10 * time.Millisecond), at.Truncate(time.Millisecond)} {
		if d < at && d > last {
			list = append(list, d)
			last = d
		}
	}
	return list
}

// shorter lists the shortest duration and half of d.
func shorter(d time.Duration) []time.Duration {
	if d <= shortest {
		return nil
	}
	if half := (d / 2).Round(shortest / 10); half > shortest {
		return []time.Duration{shortest, half}
	}
	return []time.Duration{shortest}
}

// fewer lists one and half of n.
func fewer(n int64) []int64 {
	switch {
	case n <= 1:
		return nil
	case n <= 3:
		return []int64{1}
	}
	return []int64{1, n / 2}
}

package campaign

import (
	"fmt"
	"math/bits"
	"slices"

	"lakebed/trial"
)

// mix says which scenario a seed runs.
type mix struct {
	scenarios []trial.Scenario
	weights   []uint64
	total     uint64
}

// newMix takes the scenarios that are named, or all that have a weight.
func newMix(c Catalogue, names []string) (mix, error) {
	var m mix
	if len(names) == 0 {
		for _, s := range c.Scenarios {
			if s.Weight > 0 && !s.Canary {
				m.add(s)
			}
		}
	}
	for _, name := range names {
		s, err := c.find(name)
		if err != nil {
			return mix{}, err
		}
		if s.Canary {
			return mix{}, fmt.Errorf("%w: %s is a canary, which is meant to fail and runs beside every campaign; "+
				"see one of its trials with: simrun replay 1 --scenario %s", ErrUsage, name, name)
		}
		if slices.ContainsFunc(m.scenarios, func(other trial.Scenario) bool { return other.Name == name }) {
			return mix{}, fmt.Errorf("%w: scenario %s is named twice", ErrUsage, name)
		}
		m.add(s)
	}
	if m.total == 0 {
		return mix{}, fmt.Errorf("%w: no scenario to run", ErrUsage)
	}
	return m, nil
}

// add gives a scenario its share. One without a weight is not in the default mix; who names it wants it to run.
func (m *mix) add(s trial.Scenario) {
	weight := uint64(max(s.Weight, 1))
	m.scenarios = append(m.scenarios, s)
	m.weights = append(m.weights, weight)
	m.total += weight
}

// of is the scenario that seed runs. It depends on nothing else: not on the first seed, not on the worker.
func (m *mix) of(seed uint64) trial.Scenario {
	share, _ := bits.Mul64(scatter(seed), m.total)
	for i, weight := range m.weights {
		if share < weight {
			return m.scenarios[i]
		}
		share -= weight
	}
	panic("unreachable: the share is below the total of the weights")
}

// scatter gives neighbouring seeds values far apart (the finalizer of splitmix64).
func scatter(seed uint64) uint64 {
	x := seed + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// find looks up a scenario by name, and names the nearest if there is none.
func (c Catalogue) find(name string) (trial.Scenario, error) {
	var names []string
	for _, s := range c.Scenarios {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if near := Nearest(name, names); near != "" {
		return trial.Scenario{}, fmt.Errorf("%w: no scenario %q; did you mean %s?", ErrUsage, name, near)
	}
	return trial.Scenario{}, fmt.Errorf("%w: no scenario %q; there are: %s", ErrUsage, name, joinNames(names))
}

// canaries are the scenarios that must fail.
func (c Catalogue) canaries() []trial.Scenario {
	var all []trial.Scenario
	for _, s := range c.Scenarios {
		if s.Canary {
			all = append(all, s)
		}
	}
	return all
}

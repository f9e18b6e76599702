package campaign

import (
	"fmt"
	"maps"
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

// newMix takes the scenarios that are named, or all that have a weight. Weights replace those of the catalogue: zero
// leaves a scenario out, and one that is not in the default mix comes in.
func newMix(c Catalogue, names []string, weights map[string]int64) (mix, error) {
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		if _, err := c.findSound(name); err != nil {
			return mix{}, err
		}
		if weight := weights[name]; weight < 0 || weight > weightMax {
			return mix{}, fmt.Errorf("%w: the weight of %s is from 0 to %d, not %d", ErrUsage, name, weightMax, weight)
		}
		if len(names) > 0 && !slices.Contains(names, name) {
			return mix{}, fmt.Errorf("%w: %s has a weight and is not among the scenarios to run", ErrUsage, name)
		}
	}
	var m mix
	if len(names) == 0 {
		for _, s := range c.Scenarios {
			weight, asked := weights[s.Name]
			if !asked {
				weight = int64(s.Weight)
			}
			if !s.Canary {
				m.add(s, uint64(weight))
			}
		}
	}
	for _, name := range names {
		s, err := c.findSound(name)
		if err != nil {
			return mix{}, err
		}
		if slices.ContainsFunc(m.scenarios, func(other trial.Scenario) bool { return other.Name == name }) {
			return mix{}, fmt.Errorf("%w: scenario %s is named twice", ErrUsage, name)
		}
		weight, asked := weights[name]
		if !asked {
			weight = int64(max(s.Weight, 1)) // who names one without a weight wants it to run
		}
		m.add(s, uint64(weight))
	}
	if m.total == 0 {
		return mix{}, fmt.Errorf("%w: no scenario to run", ErrUsage)
	}
	return m, nil
}

// add gives a scenario its share, if it has any.
func (m *mix) add(s trial.Scenario, weight uint64) {
	if weight == 0 {
		return
	}
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

// findSound looks up a scenario that is not meant to fail.
func (c Catalogue) findSound(name string) (trial.Scenario, error) {
	s, err := c.find(name)
	if err == nil && s.Canary {
		return s, fmt.Errorf("%w: %s is a canary, which is meant to fail and runs beside every campaign; "+
			"see one of its trials with: simrun replay 1 --scenario %s", ErrUsage, name, name)
	}
	return s, err
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

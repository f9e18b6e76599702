package faults

import (
	"fmt"

	"pgregory.net/rapid"
)

// PlanGenerator generates plans of every kind that the shape has a target for, for property tests. Each element is one
// group of draws, so that a failing test drops elements one by one and then simplifies what is left.
func PlanGenerator(shape Shape) *rapid.Generator[Plan] {
	shape = shape.withDefaults()
	weights := possible(EveryKind(), &shape)
	return rapid.Custom(func(t *rapid.T) Plan {
		if len(weights) == 0 {
			return Plan{}
		}
		element := rapid.Custom(func(t *rapid.T) Element {
			d := drawing{chooser: property{t}, shape: &shape}
			return d.element("", weights)
		})
		elements := rapid.SliceOfN(element, 0, shape.ElementsMax).Draw(t, "elements")
		for i := range elements {
			elements[i].ID = fmt.Sprintf("e%02d%s", i+1, elements[i].ID)
		}
		return Plan{Elements: elements}
	})
}

// property lets a property test choose.
type property struct{ t *rapid.T }

func (p property) pick(n int64, what string) int64 {
	return rapid.Int64Range(0, n-1).Draw(p.t, what)
}

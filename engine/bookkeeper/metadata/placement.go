package metadata

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/internal/invariant"
)

// ErrNotEnoughBookies means that too few bookies take writes that are not excluded.
var ErrNotEnoughBookies = errors.New("not enough bookies")

// Placement chooses bookies: at random among those that take writes, each as likely as the others. It is a view of one
// moment. The same view, arguments and random stream give the same choice.
type Placement struct {
	Writable []ledger.BookieID // sorted, without repetition; not changed
}

// Choose returns n different bookies, none of exclude, in the order of an ensemble; ErrNotEnoughBookies.
func (p Placement) Choose(n int, exclude []ledger.BookieID, random *rand.Rand) ([]ledger.BookieID, error) {
	candidates := p.candidates(exclude)
	if len(candidates) < n {
		return nil, fmt.Errorf("choose %d of %d writable bookies%s: %w", n, len(p.Writable), without(exclude), ErrNotEnoughBookies)
	}
	for i := range n {
		j := i + random.IntN(len(candidates)-i)
		candidates[i], candidates[j] = candidates[j], candidates[i]
	}
	return candidates[:n:n], nil
}

// Replacement is a bookie that takes the place at an index of an ensemble.
type Replacement struct {
	Index  int
	Bookie ledger.BookieID
}

// Replace chooses bookies for some indexes of an ensemble. None of them is in the ensemble, also not at an index that is
// being replaced, and none is in exclude. If there are too few, only the first indexes are replaced; if there is none,
// ErrNotEnoughBookies. The replacements come in ascending order.
func (p Placement) Replace(indexes []int, ensemble, exclude []ledger.BookieID, random *rand.Rand) ([]Replacement, error) {
	indexes = slices.Clone(indexes)
	slices.Sort(indexes)
	indexes = slices.Compact(indexes)
	if len(indexes) == 0 {
		return nil, nil
	}
	invariant.Check(indexes[0] >= 0 && indexes[len(indexes)-1] < len(ensemble), "indexes to replace are those of the ensemble")
	taken := slices.Concat(ensemble, exclude)
	n := min(len(indexes), len(p.candidates(taken)))
	if n == 0 {
		return nil, fmt.Errorf("replace indexes %v of %v%s: %w", indexes, ensemble, without(exclude), ErrNotEnoughBookies)
	}
	chosen, err := p.Choose(n, taken, random)
	if err != nil {
		return nil, err
	}
	replacements := make([]Replacement, n)
	for i, b := range chosen {
		replacements[i] = Replacement{Index: indexes[i], Bookie: b}
	}
	return replacements, nil
}

// without names the excluded bookies in a message, if there are any.
func without(exclude []ledger.BookieID) string {
	if len(exclude) == 0 {
		return ""
	}
	return fmt.Sprintf(" without %v", exclude)
}

// candidates are the writable bookies that are not taken, in a slice of their own.
func (p Placement) candidates(taken []ledger.BookieID) []ledger.BookieID {
	taken = slices.Clone(taken)
	slices.Sort(taken)
	candidates := make([]ledger.BookieID, 0, len(p.Writable))
	for _, b := range p.Writable {
		if _, is := slices.BinarySearch(taken, b); !is {
			candidates = append(candidates, b)
		}
	}
	return candidates
}

package metadata_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
)

func bookies(n int) []ledger.BookieID {
	all := make([]ledger.BookieID, n)
	for i := range all {
		all[i] = ledger.BookieID(fmt.Sprintf("bookie-%d:3181", i))
	}
	return all
}

// TestAnEnsembleNeverNamesABookieTwice, nor one that is excluded, for all small numbers of bookies and many draws.
func TestAnEnsembleNeverNamesABookieTwice(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for there := range 6 {
		for n := range 7 {
			for excluded := range there + 1 {
				all := bookies(there)
				p := metadata.Placement{Writable: slices.Clone(all)}
				exclude := append([]ledger.BookieID{"stranger:1"}, all[:excluded]...)
				chosen, err := p.Choose(n, exclude, random)
				if enough := there-excluded >= n; enough != (err == nil) || !enough && !errors.Is(err, metadata.ErrNotEnoughBookies) {
					t.Fatalf("%d of %d without %d: %v", n, there, excluded, err)
				}
				if err == nil {
					check(t, p, chosen, n, exclude)
				}
				if !slices.Equal(p.Writable, all) {
					t.Fatalf("the view is changed: %v", p.Writable)
				}
			}
		}
	}
}

// check checks that n different writable bookies were chosen, none of exclude.
func check(t *testing.T, p metadata.Placement, chosen []ledger.BookieID, n int, exclude []ledger.BookieID) {
	t.Helper()
	if len(chosen) != n {
		t.Fatalf("chose %v, want %d", chosen, n)
	}
	for i, b := range chosen {
		if slices.Contains(chosen[:i], b) || slices.Contains(exclude, b) || !slices.Contains(p.Writable, b) {
			t.Fatalf("chose %v of %v without %v", chosen, p.Writable, exclude)
		}
	}
}

// TestReplacementsAreStrangersToTheEnsemble: also to the indexes that are replaced, which may only be slow. As many are
// replaced as can be.
func TestReplacementsAreStrangersToTheEnsemble(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for there := 3; there < 8; there++ {
		for mask := range 8 {
			for excluded := range there - 2 {
				all := bookies(there)
				p, ensemble, exclude := metadata.Placement{Writable: all}, slices.Clone(all[:3]), all[3:3+excluded]
				var indexes []int
				for i := range 3 {
					if mask>>i&1 == 1 {
						indexes = append([]int{i, i}, indexes...) // in no order, and twice
					}
				}
				want := min(len(indexes)/2, there-3-excluded)
				got, err := p.Replace(indexes, ensemble, exclude, random)
				if none := want == 0 && mask > 0; none != errors.Is(err, metadata.ErrNotEnoughBookies) || !none && err != nil || len(got) != want {
					t.Fatalf("%d bookies, indexes %v, %d excluded: %v, %v", there, indexes, excluded, got, err)
				}
				var chosen []ledger.BookieID
				for i, r := range got {
					if !slices.Contains(indexes, r.Index) || i > 0 && r.Index <= got[i-1].Index {
						t.Fatalf("replaced %v, asked for %v", got, indexes)
					}
					chosen = append(chosen, r.Bookie)
				}
				check(t, p, chosen, want, slices.Concat(all[:3], exclude))
			}
		}
	}
}

// TestPlacementIsFairAndRepeatable: each bookie comes to each place about as often, and the same seed chooses the same.
func TestPlacementIsFairAndRepeatable(t *testing.T) {
	const draws = 6000
	p := metadata.Placement{Writable: bookies(6)}
	run := func() (counts [3][6]int, all []ledger.BookieID) {
		random := rand.New(rand.NewPCG(5, 6))
		for range draws {
			chosen, err := p.Choose(3, nil, random)
			if err != nil {
				t.Fatal(err)
			}
			for i, b := range chosen {
				counts[i][slices.Index(p.Writable, b)]++
			}
			all = append(all, chosen...)
		}
		return counts, all
	}
	counts, first := run()
	if _, second := run(); !slices.Equal(first, second) {
		t.Error("the same seed chooses differently")
	}
	for place, row := range counts {
		for b, count := range row {
			if count < draws/6*85/100 || count > draws/6*115/100 { // more than five standard deviations
				t.Errorf("bookie %d comes to place %d %d times of %d", b, place, count, draws)
			}
		}
	}
}

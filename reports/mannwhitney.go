package reports

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"

	"lakebed/internal/invariant"
)

// exactMax is how many samples, of both sides together, are compared exactly. The work grows with the fourth power of it;
// past it the normal approximation is good to a few thousandths.
const exactMax = 40

// shiftMax bounds the samples of each side of which all pairs are made.
const shiftMax = 1000

// RankTest is the outcome of a Mann-Whitney test: do two sets of samples come from one distribution? It asks only which
// sample is the larger one, so that one round disturbed by something else counts once and not by how far it lies off.
type RankTest struct {
	U        float64 // pairs in which the sample of a is the larger one; a tie counts a half
	P        float64 // of a difference as large as this, in either direction, if there was none
	PLeast   float64 // that so many samples can give: above 0.05, no outcome would have shown a difference
	Exact    bool    // counted over all ways to deal the samples out, ties included; else the normal approximation
	ShiftOfA float64 // Hodges-Lehmann: the median of all differences a−b
}

// MannWhitney compares two sets of samples that were measured independently of each other. Ties are handled in both
// methods: mid ranks in the exact one, a corrected variance in the other.
func MannWhitney(a, b []float64) RankTest {
	invariant.Check(len(a) > 0 && len(b) > 0, "a test compares samples with samples")
	ranks := doubledRanks(a, b)
	n, m := len(a), len(b)
	sum := 0
	for _, r := range ranks[:n] {
		sum += r
	}
	t := RankTest{
		U: float64(sum)/2 - float64(n*(n+1))/2, Exact: n+m <= exactMax, ShiftOfA: shift(a, b),
		PLeast: min(1, 2*math.Exp(-combin.LogGeneralizedBinomial(float64(n+m), float64(n)))),
	}
	if t.Exact {
		t.P = exactP(ranks, n, sum)
	} else {
		t.P = normalP(ranks, n, t.U)
	}
	return t
}

// doubledRanks returns twice the rank of each sample among all of them, those of a first. Equal samples share the mean of
// their ranks, which doubled is a whole number.
func doubledRanks(a, b []float64) []int {
	all := slices.Concat(a, b)
	sorted := slices.Sorted(slices.Values(all))
	ranks := make([]int, len(all))
	for i, v := range all {
		first, _ := slices.BinarySearch(sorted, v)
		last := first
		for last < len(sorted) && sorted[last] == v {
			last++
		}
		ranks[i] = first + 1 + last
	}
	return ranks
}

// exactP counts in how many ways n of the ranks can be dealt out so that their sum is as extreme as the one observed.
// ways[k][s] is the number of choices of k ranks with sum s; all of them fit a float64 without rounding up to exactMax.
func exactP(ranks []int, n, observed int) float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for k := n; k > 0; k-- {
			for s := total; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	var below, above, all float64
	for s, w := range ways[n] {
		all += w
		if s <= observed {
			below += w
		}
		if s >= observed {
			above += w
		}
	}
	return min(1, 2*min(below, above)/all)
}

// normalP approximates the distribution of U by the normal one, with the variance that the ties leave of it, and a half
// step towards the mean, because U goes in steps.
func normalP(ranks []int, n int, u float64) float64 {
	size := float64(len(ranks))
	product := float64(n) * (size - float64(n))
	sorted := slices.Sorted(slices.Values(ranks))
	tied := 0.0
	for first := 0; first < len(sorted); {
		last := first
		for last < len(sorted) && sorted[last] == sorted[first] {
			last++
		}
		t := float64(last - first)
		tied += t*t*t - t
		first = last
	}
	variance := product / 12 * (size + 1 - tied/(size*(size-1)))
	if variance <= 0 {
		return 1 // all samples are equal
	}
	z := max(0, math.Abs(u-product/2)-0.5) / math.Sqrt(variance)
	return min(1, 2*distuv.UnitNormal.Survival(z))
}

// shift is the median of the differences of all pairs.
func shift(a, b []float64) float64 {
	a, b = thinned(a), thinned(b)
	differences := make([]float64, 0, len(a)*len(b))
	for _, v := range a {
		for _, w := range b {
			differences = append(differences, v-w)
		}
	}
	return medianInPlace(differences)
}

// thinned takes evenly spaced quantiles where there are more samples than pairs could be made of.
func thinned(samples []float64) []float64 {
	if len(samples) <= shiftMax {
		return samples
	}
	sorted := slices.Sorted(slices.Values(samples))
	fewer := make([]float64, shiftMax)
	for i := range fewer {
		fewer[i] = sorted[i*(len(sorted)-1)/(shiftMax-1)]
	}
	return fewer
}

// Holm corrects the probabilities of several tests made together: the chance that even one of those at or below a level
// is a mistake stays below that level. The order of the argument is kept.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case p[i] < p[j]:
			return -1
		case p[i] > p[j]:
			return 1
		default:
			return 0
		}
	})
	corrected := make([]float64, len(p))
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(1, p[i]*float64(len(p)-rank)))
		corrected[i] = highest
	}
	return corrected
}

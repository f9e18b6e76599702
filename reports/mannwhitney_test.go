package reports

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// tableFive is the published table of critical values of U at 0.05, two-sided: the largest U that still is significant.
var tableFive = []struct{ n, m, critical int }{
	{5, 5, 2}, {5, 6, 3}, {5, 7, 5}, {5, 8, 6}, {5, 9, 7}, {5, 10, 8}, {6, 6, 5}, {7, 7, 8}, {8, 8, 13}, {9, 9, 17},
	{10, 10, 23}, {12, 12, 37}, {15, 15, 64}, {20, 20, 127},
}

// withU makes two sets of different samples of which the first wins u pairs: below all of b, with some of it moved up.
func withU(n, m, u int) (a, b []float64) {
	for i := range m {
		b = append(b, float64(i+1))
	}
	for i := range n {
		wins := min(u, m)
		u -= wins
		a = append(a, float64(wins)+0.5+float64(i)/1000)
	}
	return a, b
}

// Goal: the exact test has the values of the published table: significant at the critical U, and not one above it.
func TestMannWhitneyHasThePublishedCriticalValues(t *testing.T) {
	for _, c := range tableFive {
		at, above := MannWhitney(withU(c.n, c.m, c.critical)), MannWhitney(withU(c.n, c.m, c.critical+1))
		if at.U != float64(c.critical) || !at.Exact {
			t.Fatalf("%d and %d samples: U is %v (exact %v), made for %d", c.n, c.m, at.U, at.Exact, c.critical)
		}
		if at.P > 0.05 || above.P <= 0.05 {
			t.Errorf("%d and %d samples: p is %.4f at the critical U %d, and %.4f above it", c.n, c.m, at.P, c.critical, above.P)
		}
	}
}

// Goal: worked examples come out as published.
func TestMannWhitneyKnownAnswers(t *testing.T) {
	// Hollander and Wolfe, permeability of membranes: W = 35, one-sided p = 0.1272.
	a := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	b := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	got := MannWhitney(a, b)
	if got.U != 35 || math.Abs(got.P-2*0.1272) > 0.0002 {
		t.Errorf("U %v, p %.4f; published: 35, 0.2544", got.U, got.P)
	}
	if math.Abs(got.ShiftOfA-0.305) > 1e-9 {
		t.Errorf("the shift is %v; published: 0.305", got.ShiftOfA)
	}
	// Complete separation: one way of C(8,4) = 70 to each side.
	if p := MannWhitney([]float64{5, 6, 7, 8}, []float64{1, 2, 3, 4}).P; math.Abs(p-2.0/70) > 1e-12 {
		t.Errorf("p of four against four, apart: %v; it is 2/70", p)
	}
	// With a tie, counted by hand: of the 6 ways to choose two of 1, 2, 2, 3 the sums of ranks are 3.5, 3.5, 5, 5, 6.5, 6.5.
	if p := MannWhitney([]float64{1, 2}, []float64{2, 3}).P; math.Abs(p-2.0/3) > 1e-12 {
		t.Errorf("p with a tie: %v; it is 2/3", p)
	}
	if p := MannWhitney([]float64{4, 4, 4}, []float64{4, 4, 4}).P; p != 1 {
		t.Errorf("p of equal samples: %v", p)
	}
}

// Goal: where the exact method ends the approximation takes over without a jump.
func TestNormalApproximationMeetsTheExactTest(t *testing.T) {
	for u := 100; u <= 200; u += 10 {
		a, b := withU(20, 20, u)
		exact := MannWhitney(a, b)
		ranks := doubledRanks(a, b)
		if got := normalP(ranks, 20, exact.U); math.Abs(got-exact.P) > 0.005 || exact.P < 0.1 && math.Abs(got-exact.P) > 0.002 {
			t.Errorf("U %d: exactly %.4f, approximately %.4f", u, exact.P, got)
		}
	}
}

// Goal: the exact test equals counting every choice, ties or not; it is symmetric, and deaf to how far apart samples lie.
func TestMannWhitneyEqualsCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.IntRange(0, 6), 1, 5)
		a, b := floats(values.Draw(t, "a")), floats(values.Draw(t, "b"))
		got := MannWhitney(a, b)
		if want := countedP(a, b); math.Abs(got.P-want) > 1e-9 {
			t.Fatalf("p is %v, counted %v", got.P, want)
		}
		back := MannWhitney(b, a)
		if math.Abs(back.P-got.P) > 1e-12 || back.U != float64(len(a)*len(b))-got.U || back.ShiftOfA != -got.ShiftOfA {
			t.Fatalf("the other way round: %+v, and %+v", got, back)
		}
		if cubed := MannWhitney(mapped(a), mapped(b)); cubed.P != got.P || cubed.U != got.U {
			t.Fatalf("after a monotone change: %+v instead of %+v", cubed, got)
		}
		if got.PLeast > got.P+1e-9 {
			t.Fatalf("p %v is below the least that can be, %v", got.P, got.PLeast)
		}
	})
}

func floats(values []int) (out []float64) {
	for _, v := range values {
		out = append(out, float64(v))
	}
	return out
}

func mapped(values []float64) (out []float64) {
	for _, v := range values {
		out = append(out, v*v*v+1)
	}
	return out
}

// countedP walks all choices of len(a) of the samples.
func countedP(a, b []float64) float64 {
	all := slices.Concat(a, b)
	u := func(chosen uint) (sum float64) {
		for i, v := range all {
			for j, w := range all {
				if chosen>>i&1 == 1 && chosen>>j&1 == 0 {
					switch {
					case v > w:
						sum++
					case v == w:
						sum += 0.5
					}
				}
			}
		}
		return sum
	}
	observed := u(1<<len(a) - 1)
	var below, above, total float64
	for chosen := range uint(1) << len(all) {
		ones := 0
		for i := range all {
			ones += int(chosen >> i & 1)
		}
		if ones != len(a) {
			continue
		}
		total++
		if u(chosen) <= observed {
			below++
		}
		if u(chosen) >= observed {
			above++
		}
	}
	return min(1, 2*min(below, above)/total)
}

// Goal: Holm's correction as in a worked example, in the order it was asked in.
func TestHolm(t *testing.T) {
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("corrected %v; element %d is %v by hand", got, i, want)
		}
	}
	if got := Holm(nil); len(got) != 0 {
		t.Errorf("nothing corrected is %v", got)
	}
	if got := Holm([]float64{0.9, 0.8}); got[0] != 1 || got[1] != 1 {
		t.Errorf("a probability above one: %v", got)
	}
}

package reports

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Goal: quantiles of few samples are those that one counts on fingers.
func TestQuantilesAndMediansByHand(t *testing.T) {
	samples := []float64{3, 1, 2, 5, 4}
	for _, c := range []struct{ q, want float64 }{{0, 1}, {0.2, 1}, {0.5, 3}, {0.9, 5}, {1, 5}} {
		if got := Quantile(samples, c.q); got != c.want {
			t.Errorf("quantile %v is %v, not %v", c.q, got, c.want)
		}
	}
	if got := Median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("the median of 1 to 4 is %v", got)
	}
	if got := Median([]float64{math.MaxFloat64, math.MaxFloat64}); got != math.MaxFloat64 {
		t.Errorf("the median of the largest numbers is %v", got)
	}
	if !slices.Equal(samples, []float64{3, 1, 2, 5, 4}) {
		t.Errorf("the samples were reordered: %v", samples)
	}
}

// Goal: an interval holds its value, lies within the samples, moves with them, and is the same for the same seed.
func TestMedianIntervalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 12).Draw(t, "samples")
		seed := rapid.Uint64().Draw(t, "seed")
		i := MedianInterval(samples, seed)
		if i != MedianInterval(samples, seed) {
			t.Fatal("the same seed gave another interval")
		}
		if i.Low > i.Value || i.Value > i.High || i.Low < slices.Min(samples) || i.High > slices.Max(samples) {
			t.Fatalf("interval %+v of %v", i, samples)
		}
		doubled := slices.Clone(samples)
		for k := range doubled {
			doubled[k] *= 2
		}
		if d := MedianInterval(doubled, seed); d.Low != 2*i.Low || d.Value != 2*i.Value || d.High != 2*i.High {
			t.Fatalf("twice the samples: %+v, once: %+v", d, i)
		}
	})
}

// Goal: 95 % intervals hold the true median in about 95 of 100 experiments; with ten samples the bootstrap gives a bit less.
func TestMedianIntervalCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const rounds = 400
	held := 0
	for seed := range uint64(rounds) {
		samples := make([]float64, 15)
		for i := range samples {
			samples[i] = random.NormFloat64()
		}
		if i := MedianInterval(samples, seed); i.Low <= 0 && 0 <= i.High {
			held++
		}
	}
	if share := float64(held) / rounds; share < 0.90 || share > 0.99 {
		t.Errorf("%.3f of the intervals hold the median", share)
	}
}

// Goal: what disturbs both sides of a pair leaves the paired ratio alone, and not the unpaired one.
func TestPairedRatioIgnoresWhatDisturbsBoth(t *testing.T) {
	var parts, wholes []float64
	for i := range 15 {
		disk := 100 + 60*float64(i%5)
		parts, wholes = append(parts, 0.8*disk), append(wholes, disk)
	}
	paired, ok := PairedRatioInterval(parts, wholes, 1)
	if !ok || math.Abs(paired.High-paired.Low) > 1e-9 || math.Abs(paired.Value-0.8) > 1e-9 {
		t.Errorf("paired: %+v (%v)", paired, ok)
	}
	apart, ok := RatioInterval(parts, wholes, 1)
	if !ok || apart.High-apart.Low < 0.1 || math.Abs(apart.Value-0.8) > 1e-9 {
		t.Errorf("unpaired: %+v (%v)", apart, ok)
	}
	if _, ok := RatioInterval(parts, []float64{0, 0, 0}, 1); ok {
		t.Error("there is a ratio by zero")
	}
}

// Goal: a line through points on a line is that line; noise gives an interval that holds the true slope.
func TestFitLine(t *testing.T) {
	x, y := []float64{1, 2, 3, 4}, []float64{5, 7, 9, 11}
	l, ok := FitLine(x, y, 1)
	if !ok || math.Abs(l.Slope.Value-2) > 1e-9 || math.Abs(l.Intercept.Value-3) > 1e-9 || math.Abs(l.R2-1) > 1e-9 ||
		math.Abs(l.Slope.High-2) > 1e-9 || math.Abs(l.At(10)-23) > 1e-9 {
		t.Errorf("the line y = 3 + 2x is %+v (%v)", l, ok)
	}
	random := rand.New(rand.NewPCG(3, 4))
	x, y = nil, nil
	for i := range 40 {
		x, y = append(x, float64(i)), append(y, 10-0.5*float64(i)+random.NormFloat64())
	}
	l, ok = FitLine(x, y, 1)
	if !ok || l.Slope.Low > -0.5 || l.Slope.High < -0.5 || l.Slope.High > -0.4 || l.R2 < 0.9 || l.R2 > 1 {
		t.Errorf("the noisy line y = 10 − 0.5x is %+v (%v)", l, ok)
	}
	again, _ := FitLine(x, y, 1)
	if again != l {
		t.Error("the same seed gave another line")
	}
	for _, x := range [][]float64{nil, {1}, {2, 2, 2}} {
		if _, ok := FitLine(x, make([]float64, len(x)), 1); ok {
			t.Errorf("there is a best line through points at %v", x)
		}
	}
	if l, ok := FitLine([]float64{1, 2}, []float64{4, 4}, 1); !ok || l.Slope.Value != 0 || l.R2 != 1 {
		t.Errorf("a level line is %+v (%v)", l, ok)
	}
}

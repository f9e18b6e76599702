package bench

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTheMedianIsTheMiddleOrBetweenTheTwoMiddleOnes(t *testing.T) {
	for _, c := range []struct {
		samples []float64
		want    float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := median(c.samples); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.samples, got, c.want)
		}
	}
}

// TestTheIntervalHoldsTheTrueMedianAboutAsOftenAsItSays: of 400 draws from a known distribution. A bootstrap of a
// median is somewhat conservative at this size.
func TestTheIntervalHoldsTheTrueMedianAboutAsOftenAsItSays(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const draws, size, truth = 400, 15, 0.9
	held := 0
	for draw := range draws {
		samples := make([]float64, size)
		for i := range samples {
			samples[i] = truth + 0.05*random.NormFloat64()
		}
		i := medianInterval(samples, uint64(draw))
		if i.Low > i.Median || i.High < i.Median {
			t.Fatalf("interval %+v does not hold its own median", i)
		}
		if i.Low <= truth && truth <= i.High {
			held++
		}
	}
	if share := float64(held) / draws; share < 0.90 || share > 0.99 {
		t.Errorf("the interval held the truth in %.1f %% of the draws, want about 95", 100*share)
	}
}

// TestAnIntervalIsRepeatableAndLeavesItsSamplesAlone.
func TestAnIntervalIsRepeatableAndLeavesItsSamplesAlone(t *testing.T) {
	samples := []float64{5, 1, 4, 2, 3, 9, 7}
	first := medianInterval(samples, 7)
	if second := medianInterval(samples, 7); first != second {
		t.Errorf("one seed gave %+v and %+v", first, second)
	}
	if samples[0] != 5 || samples[6] != 7 {
		t.Errorf("the samples were put into another order: %v", samples)
	}
	if none := medianInterval(nil, 1); none != (Interval{}) {
		t.Errorf("no samples gave %+v", none)
	}
	if same := medianInterval([]float64{2, 2, 2}, 1); same != (Interval{2, 2, 2}) {
		t.Errorf("equal samples gave %+v", same)
	}
	if math.IsNaN(first.Low) {
		t.Error("the bound is not a number")
	}
}

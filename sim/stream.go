package sim

import (
	"math/bits"
	"math/rand/v2"
	"time"
)

// Stream returns the random stream of one named element of the world with this seed. Two names never share draws, so
// that an element which disappears, or draws once more, shifts nothing elsewhere.
func Stream(seed uint64, name string) *rand.Rand {
	first := hashName(seed, name)
	return rand.New(rand.NewPCG(first, scramble(first)))
}

// hashName folds a name into a seed. It is part of what a seed means: changing it changes every history.
func hashName(seed uint64, name string) uint64 {
	const prime = 0x100000001b3
	h := scramble(seed) ^ 0xcbf29ce484222325
	for i := 0; i < len(name); i++ {
		h = (h ^ uint64(name[i])) * prime
	}
	return scramble(h)
}

// scramble spreads the bits of x; it is a bijection.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// dice is a stream for the world's own draws. It is a value with direct calls, because the scheduler draws at every
// event. All arithmetic is on integers: fused multiply-add makes floating point differ between machines.
type dice struct{ source rand.PCG }

func newDice(seed uint64, name string) dice {
	first := hashName(seed, name)
	var d dice
	d.source.Seed(first, scramble(first))
	return d
}

func (d *dice) uint64() uint64 { return d.source.Uint64() }

// below returns a number in [0, n). n must be positive.
func (d *dice) below(n int64) int64 {
	high, _ := bits.Mul64(d.source.Uint64(), uint64(n))
	return int64(high)
}

// permille is true in p of a thousand cases, and draws nothing when p is zero.
func (d *dice) permille(p int) bool { return p > 0 && d.below(1000) < int64(p) }

// upTo returns a duration in [0, limit].
func (d *dice) upTo(limit time.Duration) time.Duration {
	if limit <= 0 {
		return 0
	}
	return time.Duration(d.below(int64(limit) + 1))
}

// exponential returns a duration with about this mean and a long tail: a geometric number of halvings plus a uniform
// part, which is an exponential distribution read off a piecewise linear curve.
func (d *dice) exponential(mean time.Duration) time.Duration {
	if mean <= 0 {
		return 0
	}
	draw := d.uint64()
	halvings := int64(bits.LeadingZeros64(draw | 1<<20)) // at most 43: the tail is bounded
	part := int64(d.uint64() >> 48)                      // of 65,536
	scaled := int64(mean) / 1000 * 667                   // the sum below has mean 1.5
	return time.Duration(scaled*halvings + scaled*part/65536)
}

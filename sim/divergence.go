package sim

import (
	"errors"
	"fmt"
	"strings"
)

const (
	checkpointEvery = 1000 // events between two kept hashes
	neighbourhood   = 20   // events shown on either side of a divergence
	searchesMax     = 8    // a divergence that moves from run to run is followed this often
)

// ErrElusive is returned when runs differ as a whole, and yet no two runs with a window on the place differed there.
var ErrElusive = errors.New("runs differ, but not where they were watched")

// Observer keeps what is needed to compare one run with another. Use one for each run.
type Observer struct {
	checkpoints []uint64 // the hash after each checkpointEvery events, the last one after the end
	events      int64
	hash        uint64
	from, to    int64 // window of event numbers to keep as text
	window      []seen
}

// seen is one event in the window.
type seen struct {
	hash uint64
	line string
}

func (o *Observer) see(events int64, hash uint64, r *record) {
	o.events, o.hash = events, hash
	if events%checkpointEvery == 0 {
		o.checkpoints = append(o.checkpoints, hash)
	}
	if event := events - 1; event >= o.from && event < o.to {
		o.window = append(o.window, seen{hash, r.String()})
	}
}

// Divergence is the first event at which two runs of one seed differ.
type Divergence struct {
	Event  int64    // its number, from zero
	First  []string // the neighbourhood in one run
	Second []string // and in the other
}

// String shows both neighbourhoods; a ">" marks the event.
func (d *Divergence) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "two runs of the same seed differ from event %d on\n", d.Event)
	for i, lines := range [][]string{d.First, d.Second} {
		fmt.Fprintf(&b, "run %d:\n%s\n", i+1, strings.Join(lines, "\n"))
	}
	return b.String()
}

// FirstDivergence runs the same trial twice and compares the runs event for event. replay must build a world from the
// config it is given and run it. Nil, nil: the runs were equal.
func FirstDivergence(config Config, replay func(Config)) (*Divergence, error) {
	observe := func(from, to int64) *Observer {
		o := &Observer{from: from, to: to}
		c := config
		c.Observer, c.Trace = o, nil
		replay(c)
		return o
	}
	first, second := observe(0, 0), observe(0, 0)
	if first.equal(second) {
		return nil, nil
	}
	// The runs cannot be had again: the fault that makes them differ may make the next ones differ elsewhere. So the
	// window follows the divergence until it catches one.
	for range searchesMax {
		at := first.parts(second) * checkpointEvery
		first = observe(at-neighbourhood, at+checkpointEvery+neighbourhood)
		second = observe(at-neighbourhood, at+checkpointEvery+neighbourhood)
		if d := first.compare(second); d != nil {
			return d, nil
		}
	}
	return nil, fmt.Errorf("seed %d: %w", config.Seed, ErrElusive)
}

func (o *Observer) equal(other *Observer) bool {
	return o.hash == other.hash && o.events == other.events
}

// parts returns the index of the first checkpoint that differs. Once the hashes of two runs differ they stay different,
// so the first difference is found by bisection.
func (o *Observer) parts(other *Observer) int64 {
	low, high := 0, min(len(o.checkpoints), len(other.checkpoints))
	for low < high {
		middle := (low + high) / 2
		if o.checkpoints[middle] == other.checkpoints[middle] {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return int64(low)
}

// compare finds the first event in both windows that differs; one run may also end first.
func (o *Observer) compare(other *Observer) *Divergence {
	for i := 0; i < max(len(o.window), len(other.window)); i++ {
		if i < len(o.window) && i < len(other.window) && o.window[i].hash == other.window[i].hash {
			continue
		}
		if i == 0 && o.from > 0 {
			return nil // they parted before the window
		}
		return &Divergence{Event: max(o.from, 0) + int64(i), First: o.around(i), Second: other.around(i)}
	}
	return nil
}

func (o *Observer) around(i int) []string {
	var lines []string
	for j := max(i-neighbourhood, 0); j < min(i+neighbourhood, len(o.window)); j++ {
		mark := "  "
		if j == i {
			mark = "> "
		}
		lines = append(lines, mark+o.window[j].line)
	}
	return lines
}

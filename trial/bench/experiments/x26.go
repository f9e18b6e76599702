package experiments

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"lakebed/reports"
	"lakebed/trial/bench/stores"
)

// a log for each partition collapses as partitions grow; one log for all stays flat.

const (
	groupPartitions    = "Appends over partitions"
	figureOpening      = "opening"
	figureMemory       = "memory after opening"
	figureCommits      = "groups by message"
	partitionsMost     = 10_000
	partitionAppenders = 64
	partitionPayload   = 1 << 10
	partitionRounds    = 6
)

func partitionCounts(r *run) []int {
	return either(r, []int{1, 10, 100, 1000, 5000, partitionsMost}, []int{1, 20})
}

func partitionCell(kind stores.Kind, mode stores.Mode, partitions int) string {
	return fmt.Sprintf("partitions/%s/%s/%d", kind, mode, partitions)
}

func measurePartitions(ctx context.Context, r *run) error {
	modes := either(r, stores.Modes(), []stores.Mode{stores.Group})
	for _, mode := range modes {
		for _, partitions := range partitionCounts(r) {
			err := r.inScratch(ctx, func(ctx context.Context, dir string) error { return r.spread(ctx, dir, mode, partitions) })
			if err != nil {
				return err
			}
			r.say("mode %s, %d partitions", mode, partitions)
		}
	}
	for _, mode := range modes {
		for _, figure := range []quantity{{name: figurePayloadRate, unit: "B/s"}, {name: figureP99, unit: "µs"}, {name: figureOpenFiles, unit: "1"}} {
			r.plotPartitions(partitionGroup(mode), fmt.Sprintf("64 appenders of 1 KiB over partitions, mode %s: %s", mode, figure.name), figure)
		}
	}
	for _, how := range []string{indexWarm, indexCold} {
		r.plotPartitions(partitionReadGroup(how), fmt.Sprintf("Partitions read one after the other, %s", how), quantity{name: figurePayloadRate, unit: "B/s"})
	}
	return nil
}

// plotPartitions draws a figure of the three stores over the number of partitions.
func (r *run) plotPartitions(group, title string, figure quantity) {
	r.lines(r.Seed, reports.Plot{
		Name: "partitions-" + strconv.Itoa(len(r.plots)), Title: title + " (wall clock)",
		X: reports.Axis{Label: "partitions", Unit: "1", Log: true},
		Y: reports.Axis{Label: figure.name, Unit: figure.unit, Log: figure.name != figurePayloadRate},
	}, group, figure, "store", func(labels map[string]string) float64 {
		n, _ := strconv.Atoi(labels["partitions"])
		return float64(n)
	})
}

func partitionGroup(mode stores.Mode) string { return groupPartitions + ", mode " + string(mode) }

// spread measures all stores with so many partitions, in turns.
func (r *run) spread(ctx context.Context, dir string, mode stores.Mode, partitions int) (err error) {
	var rigs []*stores.Rig
	defer func() {
		for _, rig := range rigs {
			err = errors.Join(err, rig.Close())
		}
	}()
	for _, kind := range stores.Kinds() {
		before, begun := heapInUse(), time.Now()
		rig, err := stores.Open(filepath.Join(dir, string(kind)), kind, mode, partitions, r.Seed)
		if err != nil {
			return err
		}
		rigs = append(rigs, rig)
		c := r.partitionCellOf(rig)
		c.sample(quantity{figureOpening, "ms", reports.ClockWall, reports.NeitherBetter}, millis(time.Since(begun)))
		c.sample(quantity{figureMemory, "B", reports.ClockNone, reports.LowerBetter}, max(heapInUse()-before, 0))
	}
	for n := range either(r, partitionRounds+1, 2) {
		for _, rig := range rigs {
			round, err := rig.Append(ctx, partitionAppenders, partitionPayload, either(r, 500*time.Millisecond, 30*time.Millisecond), 64<<20)
			if err != nil {
				return err
			}
			if n > 0 { // the first one makes files
				c := r.partitionCellOf(rig)
				c.appends(&round)
				c.sample(count(figureCommits, reports.LowerBetter), float64(len(round.Groups))/float64(max(round.Messages, 1)))
			}
		}
	}
	if mode == stores.Group {
		return r.readSpread(ctx, rigs)
	}
	return nil
}

// heapInUse is what the heap holds after a collection.
func heapInUse() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func (r *run) partitionCellOf(rig *stores.Rig) *cell {
	return r.group(partitionGroup(rig.Mode), "64 appenders of 1 KiB in a closed loop, through the partitions in turn. Opening makes the partitions, too. A group is one write, and where the mode syncs one sync.").
		cell(partitionCell(rig.Kind, rig.Mode, rig.Partitions), "store", string(rig.Kind), "partitions", strconv.Itoa(rig.Partitions))
}

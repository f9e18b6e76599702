package experiments

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"lakebed/reports"
	"lakebed/trial/bench/stores"
)

// a log for each partition collapses as partitions grow; one log for all stays flat.

const (
	groupPartitions    = "Appends over partitions"
	figureOpening      = "opening"
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
		r.lines(r.Seed, reports.Plot{
			Name: "partitions-" + string(mode), Title: fmt.Sprintf("64 appenders of 1 KiB over partitions, mode %s (wall clock)", mode),
			X: reports.Axis{Label: "partitions", Unit: "1", Log: true}, Y: reports.Axis{Label: figurePayloadRate, Unit: "B/s"},
		}, partitionGroup(mode), quantity{name: figurePayloadRate}, "store", func(labels map[string]string) float64 {
			n, _ := strconv.Atoi(labels["partitions"])
			return float64(n)
		})
	}
	return nil
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
		begun := time.Now()
		rig, err := stores.Open(filepath.Join(dir, string(kind)), kind, mode, partitions, r.Seed)
		if err != nil {
			return err
		}
		rigs = append(rigs, rig)
		r.partitionCellOf(rig).sample(quantity{figureOpening, "ms", reports.ClockWall, reports.NeitherBetter}, millis(time.Since(begun)))
	}
	for n := range either(r, partitionRounds+1, 2) {
		for _, rig := range rigs {
			round, err := rig.Append(ctx, partitionAppenders, partitionPayload, either(r, 500*time.Millisecond, 30*time.Millisecond), 64<<20)
			if err != nil {
				return err
			}
			if n > 0 { // the first one makes files
				r.partitionCellOf(rig).appends(&round)
			}
		}
	}
	return nil
}

func (r *run) partitionCellOf(rig *stores.Rig) *cell {
	return r.group(partitionGroup(rig.Mode), "64 appenders of 1 KiB in a closed loop, through the partitions in turn. Opening makes the partitions, too.").
		cell(partitionCell(rig.Kind, rig.Mode, rig.Partitions), "store", string(rig.Kind), "partitions", strconv.Itoa(rig.Partitions))
}

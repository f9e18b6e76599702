package experiments

import (
	"context"
	"strconv"
	"time"

	"lakebed/reports"
	"lakebed/trial/bench/stores"
)

// What X-26 reads of what it wrote.

const figureRestart = "restart, cold"

func partitionReadGroup(how string) string { return "Reads over partitions, " + how }

func partitionReadCell(kind stores.Kind, how string, partitions int) string {
	return "partitions-read/" + how + "/" + string(kind) + "/" + strconv.Itoa(partitions)
}

// readSpread reads the stores that were just written, in turns: first while their pages are in memory, then each time from
// a store that was opened anew and whose files the page cache has forgotten.
func (r *run) readSpread(ctx context.Context, rigs []*stores.Rig) error {
	length := either(r, 500*time.Millisecond, 30*time.Millisecond)
	for _, how := range []string{indexWarm, indexCold} {
		for range either(r, partitionRounds, 1) {
			for _, rig := range rigs {
				took := time.Duration(0)
				if how == indexCold {
					var err error
					if took, err = rig.Restart(); err != nil {
						return err
					}
				}
				round, err := rig.Read(ctx, length)
				if err != nil {
					return err
				}
				c := r.group(partitionReadGroup(how), "Partition after partition from the first message on, in batches of 1,000 messages or 256 KiB at most; latency of a batch. Cold: opened anew, page cache dropped.").
					cell(partitionReadCell(rig.Kind, how, rig.Partitions), "store", string(rig.Kind), "partitions", strconv.Itoa(rig.Partitions))
				c.sample(quantity{figureRate, "1/s", reports.ClockWall, reports.HigherBetter}, round.PerSecond())
				c.sample(quantity{figurePayloadRate, "B/s", reports.ClockWall, reports.HigherBetter}, round.Rate())
				c.sample(quantity{figureP99, "µs", reports.ClockWall, reports.LowerBetter}, round.Micros(99))
				c.sample(quantity{"CPU", "µs", reports.ClockCPU, reports.LowerBetter}, round.CPUMicros())
				c.sample(count(figureOpenFiles, reports.LowerBetter), float64(round.OpenFiles))
				if how == indexCold {
					c.sample(quantity{figureRestart, "ms", reports.ClockWall, reports.LowerBetter}, millis(took))
				}
			}
		}
	}
	return nil
}

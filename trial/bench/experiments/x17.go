package experiments

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"lakebed/reports"
	"lakebed/trial/bench/stores"
)

// an append costs the same however much is stored.

const (
	groupGrowth     = "Appends by what is stored"
	figureByRaw     = "by raw"
	figureStart     = "start after a crash"
	growthAppenders = 64
	growthPayload   = 1 << 10
	growthFilling   = 16 << 10 // of the messages that fill
	growthRounds    = 6
	growthEnough    = int64(20) << 30
)

// growthKinds are the stores of one node that grow.
func growthKinds() []stores.Kind { return []stores.Kind{stores.SegmentLog, stores.CommitLog} }

// growthSizes are bytes stored, as far as half of the free space goes: files are made ahead, too.
func growthSizes(r *run) (sizes []int64) {
	if r.Quick {
		return []int64{1 << 20, 32 << 20}
	}
	free := growthEnough * 2
	if disk, err := reports.DiskOf(r.Dir); err == nil {
		free = disk.FreeBytes
	}
	for _, size := range []int64{1 << 20, 64 << 20, 1 << 30, 4 << 30, growthEnough} {
		if size <= free/2 {
			sizes = append(sizes, size)
		}
	}
	return sizes
}

func growthCell(kind stores.Kind, size int64) string {
	return fmt.Sprintf("stored/%s/%d MiB", kind, size>>20)
}

func startCell(kind stores.Kind) string { return fmt.Sprintf("start/%s", kind) }

func measureGrowth(ctx context.Context, r *run) error {
	r.note("the raw line's rounds follow those of the store; sizes are of payload, filled with messages of %d KiB", growthFilling>>10)
	for _, kind := range growthKinds() {
		if err := r.inScratch(ctx, func(ctx context.Context, dir string) error { return r.grow(ctx, dir, kind) }); err != nil {
			return err
		}
	}
	return nil
}

// grow fills one store, and stops at each size to measure.
func (r *run) grow(ctx context.Context, dir string, kind stores.Kind) (err error) {
	raw, err := stores.NewRaw(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, raw.Close()) }()
	rig, err := stores.Open(filepath.Join(dir, "store"), kind, stores.Group, 1, r.Seed)
	if err != nil {
		return err
	}
	stored, largest := int64(0), int64(0)
	for _, size := range growthSizes(r) {
		for stored < size && err == nil {
			var filled stores.Round
			filled, err = rig.Append(ctx, growthAppenders, growthFilling, time.Minute, size-stored)
			stored += filled.Payload
		}
		for n := 0; n < either(r, growthRounds, 2) && err == nil; n++ {
			var used int64
			used, err = r.growthRound(ctx, rig, raw, kind, size)
			stored += used
		}
		if err != nil {
			return errors.Join(err, rig.Close())
		}
		largest = size
		r.say("%s with %d MiB", kind, size>>20)
	}
	image := filepath.Join(dir, "image")
	err = rig.Image(image)
	if err = errors.Join(err, rig.Close()); err != nil {
		return err
	}
	return r.startOf(image, kind, largest)
}

func (r *run) growthRound(ctx context.Context, rig *stores.Rig, raw *stores.Raw, kind stores.Kind, size int64) (int64, error) {
	length := either(r, time.Second, 50*time.Millisecond)
	round, err := rig.Append(ctx, growthAppenders, growthPayload, length, 0)
	if err != nil {
		return 0, err
	}
	bare, err := raw.Replay(round.Groups, true, length)
	if err != nil {
		return 0, err
	}
	c := r.group(groupGrowth, "64 appenders of 1 KiB in a closed loop, sync mode group, one partition.").
		cell(growthCell(kind, size), "store", string(kind), "stored", fmt.Sprintf("%d MiB", size>>20))
	c.appends(&round)
	c.sample(quantity{figureByRaw, "1", reports.ClockWall, reports.HigherBetter}, round.ByRaw(&bare))
	return round.Payload, nil
}

// appends adds the figures that every round of appends has.
func (c *cell) appends(round *stores.Round) {
	c.sample(quantity{figureRate, "1/s", reports.ClockWall, reports.HigherBetter}, round.PerSecond())
	c.sample(quantity{figurePayloadRate, "B/s", reports.ClockWall, reports.HigherBetter}, round.Rate())
	c.sample(quantity{"p50", "µs", reports.ClockWall, reports.LowerBetter}, round.Micros(50))
	c.sample(quantity{figureP99, "µs", reports.ClockWall, reports.LowerBetter}, round.Micros(99))
	c.sample(quantity{"CPU", "µs", reports.ClockCPU, reports.LowerBetter}, round.CPUMicros())
	c.sample(count(figureOpenFiles, reports.LowerBetter), float64(round.OpenFiles))
}

const (
	figureRate        = "messages"
	figurePayloadRate = "payload"
	figureOpenFiles   = "open files"
	figureP99         = "p99"
)

// startOf measures a start from an image.
func (r *run) startOf(image string, kind stores.Kind, stored int64) error {
	if err := stores.DropCache(image); err != nil {
		return err
	}
	begun := time.Now()
	rig, err := stores.Open(image, kind, stores.Group, 1, r.Seed)
	if err != nil {
		return fmt.Errorf("start after a crash: %w", err)
	}
	took := time.Since(begun)
	r.group("Starts after a crash", "Of an image of the files while the process ran; page cache dropped.").
		cell(startCell(kind), "store", string(kind), "stored", fmt.Sprintf("%d MiB", stored>>20)).
		sample(quantity{figureStart, "ms", reports.ClockWall, reports.LowerBetter}, millis(took))
	return errors.Join(rig.Close(), os.RemoveAll(image))
}

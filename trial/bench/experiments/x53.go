package experiments

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/reports"
)

// a mixed entry log writes in sequence; a log for each ledger scatters.

// layout is how ledgers share entry logs.
type layout string

const (
	oneLogForAll  layout = "one log for all"
	logPerLedger  layout = "a log for each"
	layoutVolume         = "ledger"
	layoutBytes          = 16 << 20
	layoutEntry          = 1 << 10
	layoutRounds         = 10
	layoutDecides        = 1000 // ledgers
	figureWritten        = "written"
	figureFlush          = "flush"
	figureLogs           = "logs"
)

func layoutCell(l layout, ledgers int) string { return fmt.Sprintf("layout/%s/%d", l, ledgers) }

func measureLayouts(ctx context.Context, r *run) error {
	for _, ledgers := range either(r, []int{1, 10, 100, layoutDecides}, []int{1, 10}) {
		err := r.inScratch(ctx, func(ctx context.Context, dir string) error {
			volumes := map[string]string{layoutVolume: filepath.Join(dir, layoutVolume)}
			return oshost.Run(ctx, oshost.Config{Volumes: volumes, Seed: r.Seed, Logger: r.Logger}, func(h host.Host) error {
				return r.layouts(ctx, h, ledgers)
			})
		})
		if err != nil {
			return err
		}
		r.say("%d ledgers", ledgers)
	}
	return nil
}

// layouts flushes the same entries in both layouts, in turns.
func (r *run) layouts(ctx context.Context, h host.Host, ledgers int) error {
	mixed, err := openLogs(h, "mixed", 1)
	if err != nil {
		return err
	}
	defer mixed.release()
	single, err := openLogs(h, "single", ledgers)
	if err != nil {
		return err
	}
	defer single.release()
	total := either(r, layoutBytes, 1<<20)
	for n := range either(r, layoutRounds+1, 2) {
		for _, one := range []struct {
			layout layout
			logs   entryLogs
		}{{oneLogForAll, mixed}, {logPerLedger, single}} {
			begun := time.Now()
			if err := errors.Join(ctx.Err(), one.logs.flush(ledgers, total/layoutEntry, n)); err != nil {
				return fmt.Errorf("%s, %d ledgers: %w", one.layout, ledgers, err)
			}
			if n == 0 {
				continue // files are made
			}
			took := time.Since(begun)
			c := r.group("Flushes of the same entries", "16 MiB of entries of 1 KiB, durable when the flush ends.").
				cell(layoutCell(one.layout, ledgers), "layout", string(one.layout), "ledgers", strconv.Itoa(ledgers))
			c.sample(quantity{figureWritten, "B/s", reports.ClockWall, reports.HigherBetter}, float64(total)/took.Seconds())
			c.sample(quantity{figureFlush, "ms", reports.ClockWall, reports.LowerBetter}, millis(took))
			c.sample(count(figureLogs, reports.LowerBetter), float64(len(one.logs)))
		}
	}
	return nil
}

// entryLogs are the logs of one layout.
type entryLogs []*entrylog.Logs

func openLogs(h host.Host, name string, logs int) (all entryLogs, err error) {
	root, err := h.Disk(layoutVolume)
	if err != nil {
		return nil, err
	}
	for n := range logs {
		dir, err := root.Sub(fmt.Sprintf("%s-%d", name, n))
		if err != nil {
			return all, err
		}
		one, err := entrylog.Open(h, dir, entrylog.DefaultConfig(), nil, func(ledger.ID) bool { return true })
		if err != nil {
			return all, err
		}
		all = append(all, one)
	}
	return all, nil
}

func (e entryLogs) release() {
	for _, one := range e {
		one.Release()
	}
}

// flush makes entries durable, as many of each ledger, behind those of earlier rounds.
func (e entryLogs) flush(ledgers, entries, round int) error {
	each := max(entries/ledgers, 1)
	s := flushed{first: 0, ledgers: ledgers, each: each, from: ledger.EntryID(round * each)}
	for i, logs := range e {
		if len(e) > 1 {
			s.first, s.ledgers = i, 1
		}
		done, err := logs.Flush(s, func(ledger.ID) bool { return true })
		if err != nil {
			return err
		}
		logs.Publish(done, func(ledger.ID) bool { return true })
	}
	return nil
}

// flushed is what is flushed: a source.
type flushed struct {
	first, ledgers, each int
	from                 ledger.EntryID
}

var layoutBody = make([]byte, layoutEntry) // only ever read

// Walk hands out the entries of each ledger in turn.
func (s flushed) Walk(f func(id ledger.ID, entry ledger.EntryID, body []byte, follow int) error) error {
	for number := range s.ledgers {
		for i := range s.each {
			if err := f(ledger.ID(s.first+number+1), s.from+ledger.EntryID(i), layoutBody, s.each-i-1); err != nil {
				return err
			}
		}
	}
	return nil
}

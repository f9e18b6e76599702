package experiments

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/host"
	"lakebed/reports"
)

// reading through a queue into the log is cheap while few queues interleave.

const (
	mixedFew  = 1
	mixedMany = 10_000
	mixedBody = 900 // a record of about 1 KiB
)

const (
	figureDelivery = "messages read"
	figureReadsPer = "reads by message"
	figureOverhead = "bytes read by bytes delivered"
)

func mixedCell(how string, queues int) string { return fmt.Sprintf("%s/%d queues", how, queues) }

func (r *run) mixedQueues() []int {
	return either(r, []int{mixedFew, 10, 100, 1000, mixedMany}, []int{mixedFew, 50})
}

func measureMixedLog(ctx context.Context, r *run) error {
	r.synced = syncedNever
	return r.inScratch(ctx, func(ctx context.Context, dir string) error {
		place := func(queues int) string { return filepath.Join(dir, strconv.Itoa(queues)) }
		for _, queues := range r.mixedQueues() {
			err := inCommitLog(ctx, r, place(queues), nil, func(h host.Host, s *commitlog.Store) error {
				return appendMany(h, s, queuedTopic(0), int32(queues), either(r, 100_000, 500), mixedBody)
			})
			if err != nil {
				return err
			}
		}
		for round := range either(r, 5, 1) {
			for _, queues := range r.mixedQueues() {
				for _, how := range []string{indexCold, indexWarm} {
					if err := r.readMixed(ctx, place(queues), queues, how, round); err != nil {
						return fmt.Errorf("%s: %w", mixedCell(how, queues), err)
					}
				}
			}
			r.say("round %d", round+1)
		}
		r.lines(r.Seed, reports.Plot{
			Name: "mixed", Title: "Messages read from one mixed log (wall clock)",
			X: reports.Axis{Label: "queues in the log", Unit: "1", Log: true}, Y: reports.Axis{Label: "read", Unit: "B/s", Log: true},
		}, mixedGroup, quantity{name: figureDelivery}, "page cache", func(labels map[string]string) float64 {
			x, _ := strconv.ParseFloat(labels["queues"], 64) // a label of ours
			return x
		})
		return nil
	})
}

const mixedGroup = "Pulls from one mixed log"

// unsyncedLog is a commit log that nobody waits for, whose files are filled and then read.
func unsyncedLog() commitlog.Config {
	c := commitlog.DefaultConfig()
	c.Flush, c.FileBytes, c.KeyIndex, c.Preallocation = commitlog.FlushNever, 64<<20, false, "sparse"
	r := &c.Retention
	r.Interval, r.DiskMaxUsed, r.DiskForcibly, r.DiskWarning = time.Hour, 1, 1, 1
	return c
}

// inCommitLog has f use a store below dir, whose reads are counted where there is a tally.
func inCommitLog(ctx context.Context, r *run, dir string, t *tally, f func(h host.Host, s *commitlog.Store) error) error {
	return onThisMachine(ctx, r, dir, commitlog.StoreVolume, func(h host.Host) error {
		if t != nil {
			h = counted{h, t}
		}
		s, err := commitlog.Open(h, h.Root(), unsyncedLog())
		if err != nil {
			return err
		}
		err = f(h, s)
		if closed := s.Close(); err == nil {
			err = closed
		}
		return err
	})
}

// readMixed pulls queue after queue until enough was read. Each round begins at another queue.
func (r *run) readMixed(ctx context.Context, dir string, queues int, how string, round int) error {
	var t tally
	return inCommitLog(ctx, r, dir, &t, func(_ host.Host, s *commitlog.Store) error {
		wanted := either(r, 2000, 200)
		if how == indexCold {
			if err := dropCached(dir); err != nil {
				return err
			}
		} else if _, _, err := pullSome(s, queues, wanted, round); err != nil { // brings it in
			return err
		}
		reads, bytes := t.now()
		began := time.Now()
		messages, delivered, err := pullSome(s, queues, wanted, round)
		took := time.Since(began)
		if err != nil {
			return err
		}
		reads, bytes = t.since(reads, bytes)
		c := r.group(mixedGroup, "Samples are rounds. A read is a call of the file system; cold, its pages come from the disk.").
			cell(mixedCell(how, queues), "page cache", how, "queues", strconv.Itoa(queues))
		c.sample(quantity{figureDelivery, "B/s", reports.ClockWall, reports.HigherBetter}, float64(delivered)/took.Seconds())
		c.sample(count(figureReadsPer, reports.LowerBetter), float64(reads)/float64(messages))
		c.sample(count(figureOverhead, reports.LowerBetter), float64(bytes)/float64(delivered))
		return nil
	})
}

// pullSome pulls queues from their beginning, each until its end, until so many messages came.
func pullSome(s *commitlog.Store, queues, wanted, first int) (messages int, bytes int64, err error) {
	for turn := 0; turn < queues && messages < wanted; turn++ {
		queue := int32((first*queues/7 + turn) % queues)
		for offset := int64(0); messages < wanted; {
			found, err := s.Pull(commitlog.PullRequest{Topic: queuedTopic(0), Queue: queue, Offset: offset})
			if err != nil {
				return messages, bytes, err
			}
			if len(found.Messages) == 0 {
				break
			}
			for i := range found.Messages {
				bytes += int64(found.Messages[i].Size())
			}
			messages += len(found.Messages)
			offset = found.Next
		}
	}
	return messages, bytes, nil
}

// judgeMixedLog: from a cold log, ten thousand queues are read more slowly than one.
func judgeMixedLog(r *reports.Result) reports.Verdict {
	var j judgement
	for _, how := range []string{indexCold, indexWarm} {
		many, ok := j.figureOf(r, mixedCell(how, mixedMany), figureDelivery)
		one, found := j.figureOf(r, mixedCell(how, mixedFew), figureDelivery)
		if !ok || !found {
			continue
		}
		what := fmt.Sprintf("rate of 10,000 queues by that of one, %s,", how)
		i, ok := j.ratio(what, &many, &one)
		switch {
		case !ok:
		case how == indexCold:
			j.below(what, i, 1/equalWithin)
		default:
			j.support("%s it is %s (%s to %s)", what, short(i.Value), short(i.Low), short(i.High))
		}
	}
	return j.verdict()
}

package experiments

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/readahead"
	"lakebed/engine/commitlog/server"
	"lakebed/reports"
	"lakebed/sim"
)

// read-ahead serves sequential consumption from memory.

const (
	aheadBody    = 1 << 10
	aheadPull    = 8 << 10 // bytes of one pull: what is read ahead is several
	aheadReaders = 8
	aheadDouble  = "4 KiB doubling to 1 MiB"
	aheadNone    = "none"

	figureHits      = "hit ratio"
	figureReadAhead = "bytes from disk by bytes delivered"
	figureWasted    = "fetched ahead in vain"
	figurePullP99   = "p99 of a pull"

	patternSequential = "sequential"
	patternRandom     = "random"
	patternReaders    = "8 readers in turn"
)

// aheadWindows are the windows of the requirement, by their names.
func aheadWindows() []aheadWindow {
	windows := []aheadWindow{{aheadNone, readahead.Config{}}}
	for _, kib := range []int64{4, 16, 64, 256} {
		windows = append(windows, aheadWindow{fmt.Sprintf("%d KiB", kib), readahead.Config{Min: kib << 10, Max: kib << 10}})
	}
	return append(windows, aheadWindow{aheadDouble, readahead.Config{Min: 4 << 10, Max: 1 << 20}})
}

// allAdvice begins with the one under which only the windows are at work.
func allAdvice() []commitlog.Advice {
	return []commitlog.Advice{commitlog.AdviceRandom, commitlog.AdviceNormal, commitlog.AdviceSequential}
}

type aheadWindow struct {
	name   string
	config readahead.Config
}

func aheadCell(advice commitlog.Advice, window, pattern string) string {
	return "kernel " + string(advice) + "/" + window + "/" + pattern
}

func measureReadAhead(ctx context.Context, r *run) error {
	r.note("Every round begins with a page cache that has nothing of the log. A hit is a pull of which everything was fetched ahead, whether it has come by then or not.")
	return r.inScratch(ctx, func(ctx context.Context, dir string) error {
		filled := int64(0)
		for round := range either(r, 5, 1) {
			for _, advice := range either(r, allAdvice(), allAdvice()[:1]) {
				config := messageLogConfig(aheadReaders)
				config.Advice = advice
				err := r.inMessageLog(ctx, dir, config, func(l *messageLog) error {
					if l.count = filled; filled == 0 {
						if err := l.fill(aheadBody, either(r, int64(192<<20), 4<<20)); err != nil {
							return err
						}
						filled = l.count
					}
					return l.readAhead(ctx, advice, round)
				})
				if err != nil {
					return fmt.Errorf("kernel advice %s: %w", advice, err)
				}
			}
			r.say("round %d", round+1)
		}
		return nil
	})
}

// readAhead meets every window and pattern once. What the kernel reads ahead is told apart by its advice: with random only
// the windows are at work, and without a window only the kernel.
func (l *messageLog) readAhead(ctx context.Context, advice commitlog.Advice, round int) error {
	for _, window := range aheadWindows() {
		if (l.Quick || advice != commitlog.AdviceRandom) && window.name != aheadNone && window.name != aheadDouble {
			continue
		}
		for _, pattern := range []string{patternSequential, patternRandom, patternReaders} {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := l.cool(); err != nil {
				return err
			}
			config := server.DefaultConfig()
			config.Sender, config.Prefetch, config.ReadAhead = server.ReadWrite, server.PrefetchRead, window.config
			err := l.serve(config, func(s *server.Server) error { return l.consume(s, advice, window.name, pattern, round) })
			if err != nil {
				return fmt.Errorf("window %s, %s: %w", window.name, pattern, err)
			}
		}
	}
	return nil
}

// consume reads in a pattern and takes its figures.
func (l *messageLog) consume(s *server.Server, advice commitlog.Advice, window, pattern string, round int) error {
	p := make([]*puller, l.queues)
	for i := range p {
		var err error
		if p[i], err = newPuller(s.Addr(), int32(i), aheadPull); err != nil {
			return err
		}
		defer p[i].close()
	}
	before, err := spentNow()
	if err != nil {
		return err
	}
	took, delivered, err := l.pulls(p, pattern, sim.Stream(l.Seed+uint64(round), "experiment/read-ahead"))
	if err != nil {
		return err
	}
	after, err := spentNow()
	if err != nil {
		return err
	}
	ahead := s.ReadAhead()
	c := l.group("Consumers read a cold log", "Pulls of 8 KiB of 1 KiB messages; eight queues lie in the log in turn.").cell(aheadCell(advice, window, pattern),
		"kernel advice", string(advice), "window", window, "pattern", pattern)
	share := func(part, whole int64) float64 { return float64(part) / float64(max(whole, 1)) }
	c.sample(quantity{figureHits, "1", reports.ClockNone, reports.HigherBetter}, share(ahead.Hits, ahead.Pulls))
	c.sample(quantity{figureReadAhead, "1", reports.ClockNone, reports.LowerBetter}, share(after.bytesFromDisks-before.bytesFromDisks, delivered))
	c.sample(quantity{figureWasted, "1", reports.ClockNone, reports.LowerBetter}, share(ahead.Wasted, ahead.Fetched))
	c.sample(quantity{figurePullP99, "µs", reports.ClockWall, reports.LowerBetter}, reports.Quantile(took, 0.99))
	return nil
}

// pulls reads one queue to its end, or a third of it at random places, or all queues in turn.
func (l *messageLog) pulls(p []*puller, pattern string, r *rand.Rand) (took []float64, delivered int64, err error) {
	next := make([]int64, len(p))
	one := func(queue int, offset int64) error {
		began := time.Now()
		to, received, err := p[queue].pullOne(offset)
		took = append(took, micros(time.Since(began)))
		next[queue], delivered = to, delivered+received
		return err
	}
	switch pattern {
	case patternSequential:
		for next[0] < l.count && err == nil {
			err = one(0, next[0])
		}
	case patternRandom:
		for range l.count / 24 { // a pull has some seven messages
			if err = one(0, r.Int64N(l.count)); err != nil {
				break
			}
		}
	default:
		for next[0] < l.count && err == nil {
			for i := range p {
				if err = one(i, next[i]); err != nil {
					break
				}
			}
		}
	}
	return took, delivered, err
}

const hitRatioMin = 0.9

// judgeReadAhead: a window that doubles has nine of ten sequential pulls fetched before they come, with the kernel's own
// read-ahead switched off; and who reads at random gains nothing by it, and may lose.
func judgeReadAhead(r *reports.Result) reports.Verdict {
	var j judgement
	for _, pattern := range []string{patternSequential, patternReaders} {
		hits, ok := j.figureOf(r, aheadCell(commitlog.AdviceRandom, aheadDouble, pattern), figureHits)
		switch {
		case !ok:
		case len(hits.Samples) < roundsDecisive:
			j.leaveOpen("hit ratio, %s: %d rounds, and it takes %d", pattern, len(hits.Samples), roundsDecisive)
		case hits.Value < hitRatioMin:
			j.refute("hit ratio, %s, is %s, the bound is %s", pattern, short(hits.Value), short(hitRatioMin))
		default:
			j.support("hit ratio, %s, is %s", pattern, short(hits.Value))
		}
	}
	j.decides(r, "bytes from disk at random places, with a window by without,", figureReadAhead,
		aheadCell(commitlog.AdviceRandom, aheadDouble, patternRandom), aheadCell(commitlog.AdviceRandom, aheadNone, patternRandom), randomNoGain)
	return j.verdict()
}

// randomNoGain: fewer bytes from disk than this part would be a gain of those who read at random.
const randomNoGain = 0.95

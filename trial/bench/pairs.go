package bench

import (
	"context"
	"fmt"
	"time"
)

const (
	// stretchMax bounds how often its length a round goes on for the sake of work in the background.
	stretchMax = 3
	// idleLimit bounds the wait for its end between rounds.
	idleLimit = 20 * time.Second
)

// pair is one round of an arm and one of the raw line beside it.
type pair struct {
	arm round
	raw rawRound
}

// ratio compares bytes of groups per second.
func (p pair) ratio() float64 {
	raw := perSecond(p.raw.bytes, p.raw.elapsed)
	if raw == 0 {
		return 0
	}
	return perSecond(p.arm.groupBytes(), p.arm.elapsed) / raw
}

// groupMean is the mean length of the arm's groups, zero if there were none.
func (p pair) groupMean() float64 {
	if len(p.arm.groups) == 0 {
		return 0
	}
	return float64(p.arm.groupBytes()) / float64(len(p.arm.groups))
}

// pairing measures one arm against the raw line.
type pairing struct {
	arm     Arm
	subject subject
	raw     *rawLine
	length  time.Duration
	runners []*runner
}

func newPairing(arm Arm, s subject, raw *rawLine, from *source, length time.Duration) (*pairing, error) {
	workers, err := s.workers(arm, from)
	if err != nil {
		return nil, err
	}
	p := &pairing{arm: arm, subject: s, raw: raw, length: length}
	for _, w := range workers {
		p.runners = append(p.runners, &runner{worker: w})
	}
	return p, nil
}

// run measures count pairs after a warm-up of both lines. The order alternates; a raw round that comes first replays
// the groups of the arm's round before it.
func (p *pairing) run(ctx context.Context, count int) ([]pair, error) {
	warm, err := p.armRound()
	if err != nil {
		return nil, err
	}
	if _, err := p.raw.replay(warm.groups); err != nil {
		return nil, err
	}
	last := warm
	var pairs []pair
	for i := range count {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next, err := p.pair(last, i%2 == 0)
		if err != nil {
			return nil, fmt.Errorf("%s, pair %d: %w", p.arm.Name(), i+1, err)
		}
		pairs, last = append(pairs, next), next.arm
	}
	return pairs, nil
}

func (p *pairing) pair(last round, armFirst bool) (done pair, err error) {
	if armFirst {
		if done.arm, err = p.armRound(); err != nil {
			return done, err
		}
		done.raw, err = p.raw.replay(done.arm.groups)
		return done, err
	}
	if done.raw, err = p.raw.replay(last.groups); err != nil {
		return done, err
	}
	done.arm, err = p.armRound()
	return done, err
}

// armRound lets the arm's clients work for the round's length, and longer while they have set work in the background
// going. What is left of that after the limit ends before the raw line starts, so as not to slow it.
func (p *pairing) armRound() (round, error) {
	seen := p.subject.observer()
	seen.takeGroups()
	begun := time.Now()
	deadline, limit := begun.Add(p.length), begun.Add(stretchMax*p.length)
	elapsed, used, err := drive(p.runners, "arm", func(now time.Time) bool {
		return now.After(deadline) && (now.After(limit) || !seen.busy())
	})
	if err != nil {
		return round{}, err
	}
	_, batch := p.arm.split()
	done := round{
		entries: steps(p.runners) * int64(batch), elapsed: elapsed, usage: used, groups: seen.takeGroups(), latencies: newLatencies(),
	}
	seen.awaitIdle(idleLimit)
	return done, done.latencies.add(p.runners, batch)
}

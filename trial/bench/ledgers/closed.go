package ledgers

import (
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/host"
)

// appender is what adds go to: a ledger's writer.
type appender interface {
	Append(payload []byte, op *client.Op) error
}

// closedLoop keeps a number of appends under way: each is made again as soon as it is back. Its latencies hold at that
// number and say nothing about arrivals that do not wait.
type closedLoop struct {
	writer  appender
	content *content
	slots   []slot
	back    *host.Queue[*slot]
	taken   []*slot
}

// slot is one append at a time.
type slot struct {
	client.Op
	begun time.Time
	back  *host.Queue[*slot]
}

// Appended takes an append back. There is room for all.
func (s *slot) Appended(*client.Op) { s.back.Offer(s) }

func newClosedLoop(h host.Host, writer appender, c *content, inFlight int) *closedLoop {
	l := &closedLoop{
		writer: writer, content: c, slots: make([]slot, inFlight), back: host.NewQueue[*slot](h, h.Root(), "appended", inFlight),
	}
	for i := range l.slots {
		l.slots[i].back, l.slots[i].Done = l.back, &l.slots[i]
	}
	return l
}

// round measures for a length of time, from the first acknowledgement on: filling and emptying the window are off the
// clock. It returns when nothing is under way.
func (l *closedLoop) round(length time.Duration, cpu meter) (round, error) {
	done := round{latencies: newHistogram()}
	now := time.Now()
	for i := range l.slots {
		if err := l.send(&l.slots[i], now); err != nil {
			return done, err
		}
	}
	var measured span
	for home, begun, over := 0, false, false; home < len(l.slots); {
		var ok bool
		if l.taken, ok = l.back.Take(l.taken); !ok {
			return done, host.ErrStopping
		}
		now = time.Now()
		if begun && !over {
			if err := done.count(l.taken, now); err != nil {
				return done, err
			}
		}
		if !begun {
			begun = true
			var err error
			if measured, err = cpu.begin(); err != nil {
				return done, err
			}
		}
		if !over && now.Sub(measured.at) >= length {
			over = true
			var err error
			if done.elapsed, done.cpu, err = measured.end(); err != nil {
				return done, err
			}
		}
		for _, s := range l.taken {
			if s.Err != nil {
				return done, fmt.Errorf("append: %w", s.Err)
			}
			if over {
				home++
			} else if err := l.send(s, now); err != nil {
				return done, err
			}
		}
	}
	return done, done.latencies.failed
}

func (l *closedLoop) send(s *slot, now time.Time) error {
	s.begun = now
	return l.writer.Append(l.content.next(), &s.Op)
}

// count takes acknowledgements into the round.
func (r *round) count(taken []*slot, now time.Time) error {
	for _, s := range taken {
		if s.Err != nil {
			return fmt.Errorf("append: %w", s.Err)
		}
		r.entries++
		r.latencies.add(now.Sub(s.begun), 1)
	}
	return nil
}

package seglog_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog"
)

// TestMessagesAheadOfTheClockAreRefused also after it has gone far ahead and back, when a round of retention has come, and whether or not
// others were taken just before. Messages of now are taken throughout.
func TestMessagesAheadOfTheClockAreRefused(t *testing.T) {
	b := newBench(t)
	b.lives(func(h host.Host, s *seglog.Store) error {
		if err := s.CreateTopic(topic, seglog.TopicConfig{Partitions: 1}); err != nil {
			return err
		}
		look := func(when string) error {
			for range 2 {
				for _, number := range []int{0, seglog.Balanced} {
					if _, err := s.Append(topic, number, payload(now(h), "")); err != nil {
						return fmt.Errorf("%s: a message of now: %w", when, err)
					}
					late := payload(now(h)+seglog.Time(b.config.FutureMax/time.Millisecond)+1, "")
					if _, err := s.Append(topic, number, payload(1, ""), late); !errors.Is(err, seglog.ErrInvalid) {
						t.Errorf("%s: a message that is too far ahead: %v", when, err)
					}
				}
			}
			return nil
		}
		err := look("at first")
		for _, jump := range []time.Duration{time.Minute, 100 * time.Hour, -100 * time.Hour, -time.Minute} {
			b.node.JumpClock(jump)
			h.Root().Sleep(b.config.LookInterval + time.Second)
			err = errors.Join(err, look(fmt.Sprintf("after a jump of %v", jump)))
		}
		return err
	})
}

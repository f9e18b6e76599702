package partition_test

import (
	"fmt"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog/message"
	"lakebed/engine/seglog/partition"
	"lakebed/sim"
)

// TestTheTimeOfModificationIsAPoorGuide: with producers whose clocks are right and files that nobody touched, the source's
// rule finds what the recorded times find. After a copy, which gives every file a new time, it finds nothing any more; the
// recorded times find all.
func TestTheTimeOfModificationIsAPoorGuide(t *testing.T) {
	const count = 60
	for _, copied := range []bool{false, true} {
		for _, rule := range []partition.TimeRule{partition.ByRecordedTime, partition.ByModification} {
			config := smallConfig()
			config.TimeRule, config.TimeUnit = rule, time.Millisecond
			var times []partition.Time
			restore := func(n *sim.Node) {
				if !copied {
					return
				}
				for _, file := range n.Disk(volume).Model().Paths() {
					if err := n.Disk(volume).Model().Touch(file.Path, int64(n.Clock())); err != nil && file.Size > 0 {
						t.Fatal(err)
					}
				}
			}
			lives(t, config, restore, func(h host.Host, life *life) error {
				for i := range count {
					at := partition.Time(int64(h.Now()) / int64(time.Millisecond))
					m, err := partition.NewMessage(message.Append(nil, []message.Group{{Time: at, Source: fmt.Append(nil, i)}}))
					if err != nil {
						return err
					}
					if _, err := life.p.Append([]partition.Message{m}); err != nil {
						return err
					}
					times = append(times, at)
					h.Root().Sleep(50 * time.Millisecond)
				}
				return nil
			}, func(_ host.Host, life *life) error {
				wrong := 0
				for i, at := range times {
					c, err := life.p.Seek(at)
					if err != nil {
						return err
					}
					if c != partition.Cursor(i) {
						wrong++
					}
				}
				if must := copied && rule == partition.ByModification; (wrong > 0) != must {
					return fmt.Errorf("copied %v, rule %s: %d of %d look-ups are wrong", copied, rule, wrong, count)
				}
				return nil
			})
		}
	}
}

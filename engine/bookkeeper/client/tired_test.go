package client_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/sim"
)

var (
	errTired = errors.New("waited enough")
	errNow   = errors.New("no room now")
)

// silentOp counts outcomes.
type silentOp struct {
	client.Op
	over *int
}

func (o *silentOp) Appended(*client.Op) { *o.over++ }

// TestAnAppendThatIsTiredOfWaitingWasNotMade: with a full window, and with a spent budget, an append that has waited enough
// fails with what it was told, at once if it never wanted to wait, and when it is roused otherwise. Nothing of it is left:
// there is as much room as before, and the next entry takes the id that it would have had.
func TestAnAppendThatIsTiredOfWaitingWasNotMade(t *testing.T) {
	for name, bound := range map[string]func(*client.Config){
		"window": func(c *client.Config) { c.WindowEntries = 2 },
		"budget": func(c *client.Config) { c.AppendBytesMax = 2 * 60 },
	} {
		profile := sim.LAN()
		profile.LatencyMin = 20 * time.Millisecond // the window stays full for that long
		c := newCluster(t, 1, profile, 3)
		bound(&c.config)
		c.run(func(h host.Host, one *client.Client) error {
			w, err := one.Create(options(3, 3, 2))
			if err != nil {
				return err
			}
			if err := tire(h, w); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return w.Close()
		})
	}
}

func tire(h host.Host, w *client.Writer) error {
	over := 0
	appendOne := func(enough func() error) error {
		op := &silentOp{over: &over}
		op.Done = op
		return w.AppendUnless(make([]byte, 100), &op.Op, enough)
	}
	now := func() error { return errNow }
	made := 0
	for ; made < 10; made++ {
		if err := appendOne(now); errors.Is(err, errNow) {
			break
		} else if err != nil {
			return err
		}
	}
	if made == 0 || made == 10 {
		return fmt.Errorf("%d appends found room", made)
	}
	tired, failed := false, error(nil)
	g := h.Root().New("tired")
	g.Go("append", func() {
		failed = appendOne(func() error {
			if tired {
				return errTired
			}
			return nil
		})
	})
	h.Root().Sleep(time.Millisecond)
	tired = true
	before := h.Elapsed()
	w.Rouse()
	g.Wait()
	if !errors.Is(failed, errTired) || h.Elapsed()-before > 5*time.Millisecond {
		return fmt.Errorf("roused after %v: %w", h.Elapsed()-before, failed)
	}
	last, err := w.AppendOne(make([]byte, 100))
	if err != nil || last != ledger.EntryID(made) || over != made {
		return fmt.Errorf("entry %d behind %d, of which %d have outcomes: %w", last, made, over, err)
	}
	return nil
}

package client_test

import (
	"slices"
	"strings"
	"testing"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/host"
	"lakebed/sim"
)

// TestAcknowledgementsTellWhomTheyCount: the mark of every acknowledged entry names an ack quorum of bookies that are
// there, each once, so that a checker can hold them against the metadata.
func TestAcknowledgementsTellWhomTheyCount(t *testing.T) {
	c := newCluster(t, 1, sim.LAN(), 5)
	marks := 0
	c.world.OnMark(func(_ *sim.Node, e host.Event) {
		if e.Name != client.PointAcked {
			return
		}
		marks++
		bookies := strings.Split(e.Extra, ",")
		slices.Sort(bookies)
		if n := len(slices.Compact(slices.Clone(bookies))); n < 2 || n > 3 || n != len(bookies) {
			t.Errorf("entry %d counts %q", e.B, e.Extra)
		}
		for _, b := range bookies {
			if !strings.HasPrefix(b, "bookie-") || !strings.HasSuffix(b, ":3181") {
				t.Errorf("entry %d counts bookie %q", e.B, b)
			}
		}
	})
	c.run(func(h host.Host, one *client.Client) error {
		w, err := one.Create(options(4, 3, 2))
		if err != nil {
			return err
		}
		if err := pipeline(h, w, 0, 40); err != nil {
			return err
		}
		c.bookies[0].Crash(sim.KillProcess())
		if err := pipeline(h, w, 40, 40); err != nil {
			return err
		}
		return w.Close()
	})
	if marks != 80 {
		t.Errorf("%d marks", marks)
	}
}

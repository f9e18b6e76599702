package client_test

import (
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/client/pool"
	"lakebed/engine/host"
	"lakebed/sim"
)

// TestAReplacedBookieHoldsNoAppendsUp: the line to a hung bookie moves once more, when the connection is given up and made
// anew, just after a writer has replaced the bookie. What is left in that line is owed for another timeout, and must not keep
// the writer from its new ensemble for so long.
func TestAReplacedBookieHoldsNoAppendsUp(t *testing.T) {
	var replaced int64
	for seed := range uint64(12) {
		c := newCluster(t, seed, sim.LAN(), 4)
		narrow(&c.config)
		c.run(func(h host.Host, one *client.Client) error {
			first, err := createdOn(one, bookieAddr(0), true)
			if err != nil {
				return err
			}
			second, err := createdOn(one, bookieAddr(0), true)
			if err != nil {
				return err
			}
			if err := write(first, 0, 3); err != nil { // there is a connection
				return err
			}
			c.bookies[0].Pause()
			began := h.Elapsed()
			if err := pour(h, first, 2*c.config.Pool.Channel.RequestsMax); err != nil { // the connection is full
				return err
			}
			// The connection ends after its patience, which begins when these have timed out: at a sweep, which may be 20 ms
			// late. The second writer's first adds in line are given up just before that, the others are not.
			ends := began + c.config.AddTimeout + 20*time.Millisecond + c.config.Pool.Channel.Patience
			early := time.Duration(seed) * 500 * time.Microsecond
			h.Root().Sleep(ends - c.config.AddTimeout - early - h.Elapsed())
			d, err := took(h, func() error { return pour(h, second, 200) })
			first.Abandon()
			second.Abandon()
			if limit := c.config.AddTimeout + 300*time.Millisecond; err == nil && d > limit {
				err = fmt.Errorf("200 appends took %s, at most %s are allowed", d, limit)
			}
			return err
		})
		replaced += c.visits(pool.PointReplaced)
	}
	if replaced == 0 {
		t.Error("the connection to the hung bookie was never made anew")
	}
}

package client_test

import (
	"fmt"
	"testing"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/host"
	"lakebed/sim"
)

// TestALedgerIsWrittenClosedAndRead: what was acknowledged is read back by another client, in every shape of quorum, with
// single and batch reads.
func TestALedgerIsWrittenClosedAndRead(t *testing.T) {
	for i, q := range [][3]int{{1, 1, 1}, {3, 3, 2}, {3, 3, 3}, {3, 2, 2}, {4, 3, 2}, {4, 2, 1}} {
		c := newCluster(t, uint64(i), sim.LAN(), 4)
		c.run(func(h host.Host, one *client.Client) error {
			const count = 60
			w, err := one.Create(options(q[0], q[1], q[2]))
			if err != nil {
				return err
			}
			if err := write(w, 0, count); err != nil {
				return err
			}
			if err := w.Close(); err != nil {
				return err
			}
			r, err := one.Open(w.ID(), open)
			if err != nil {
				return err
			}
			defer r.Close()
			if r.LastAddConfirmed() != count-1 || r.Length() != w.Length() || !r.Closed() {
				return fmt.Errorf("%+v: last entry %d, length %d", q, r.LastAddConfirmed(), r.Length())
			}
			entries, err := r.Read(0, count-1)
			if err := holds(entries, err, 0, count-1); err != nil {
				return err
			}
			entries, err = r.BatchRead(7, 5, 0)
			if err := holds(entries, err, 7, 11); err != nil {
				return err
			}
			_, err = r.Read(count-1, count)
			return is("behind the end", err, client.ErrBeyondLAC)
		})
	}
}

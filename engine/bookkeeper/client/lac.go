package client

import (
	"fmt"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// lastRead asks one bookie for its last entry.
type lastRead struct {
	channel.Request
	index  int
	bookie ledger.BookieID
	queue  *host.Queue[*lastRead]
}

// Completed hands the answer to the task that asked, or drops it if that has heard enough.
func (l *lastRead) Completed(*channel.Request) {
	if !l.queue.Offer(l) {
		l.Release()
	}
}

// askLastConfirmed reads the last entry of the bookies in the last ensemble and raises the LAC by what they carry. It
// returns once no ack quorum can hide among those that have not answered: one that hangs holds nobody up. An error means
// that an acknowledged entry may have escaped it.
func (r *Reader) askLastConfirmed(m *ledger.Metadata, d *ledger.Digester) error {
	c := r.client
	ensemble := m.Last().Ensemble
	queue := host.NewQueue[*lastRead](c.h, c.tasks, "read-last", len(ensemble))
	defer drain(queue)
	heard := make([]bool, len(ensemble))
	var problem error
	underWay := 0
	for i, bookie := range ensemble {
		one := &lastRead{index: i, bookie: bookie, queue: queue}
		one.Request = channel.Request{
			Operation: wire.Read, Ledger: r.id, Entry: ledger.NoEntry, Timeout: c.config.ReadTimeout, Done: one,
		}
		if err := c.pool.Offer(bookie, &one.Request); err != nil {
			problem = err
			continue
		}
		underWay++
	}
	var batch []*lastRead
	for underWay > 0 && !covered(m.Quorum, heard) {
		batch, _ = queue.Take(batch) // its group stops only when no call is left
		for _, one := range batch {
			underWay--
			if err := r.lastAnswer(one, d); err != nil {
				problem = err
				continue
			}
			heard[one.index] = true
		}
	}
	if !covered(m.Quorum, heard) {
		return fmt.Errorf("read the LAC of ledger %d: too few of %d bookies answered: %w: %w",
			r.id, len(heard), ErrUnavailable, problem)
	}
	return nil
}

// drain ends a queue of last-entry reads. What comes later releases itself.
func drain(queue *host.Queue[*lastRead]) {
	queue.End()
	left, _ := queue.Take(nil)
	for _, one := range left {
		one.Release()
	}
}

// lastAnswer takes in one bookie's last entry. That it has none is an answer too.
func (r *Reader) lastAnswer(one *lastRead, d *ledger.Digester) error {
	defer one.Release()
	if one.Err != nil {
		if readClass(one.Err) == ErrNoSuchEntry {
			return nil
		}
		return one.Err
	}
	entry, err := verified(d, one.Entries[0], r.id, ledger.NoEntry)
	if err != nil {
		r.mark(PointBadDigest, ledger.NoEntry, string(one.bookie))
		return fmt.Errorf("from %s: %w", one.bookie, err)
	}
	r.raise(entry.LastAddConfirmed)
	return nil
}

// covered reports whether no ack quorum can hide among the bookies that were not heard: of each write set, fewer than the
// ack quorum are silent.
func covered(q ledger.Quorum, heard []bool) bool {
	for first := range heard {
		silent := 0
		for i := range q.Write {
			if !heard[(first+i)%len(heard)] {
				silent++
			}
		}
		if silent >= q.Ack {
			return false
		}
	}
	return true
}

package experiments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/reports"
	"lakebed/sim"
)

// striping raises the write throughput of one ledger, and has a price in reads.

const (
	stripeBookies   = 5
	stripeRate      = 8 << 20   // bytes a second that each journal's device takes on this machine
	stripeVirtual   = 4 << 20   // and in the simulator
	stripeInFlight  = 64        // appends under way on a single ledger, at most
	stripeBytes     = 512 << 10 // and their bytes: few enough that many groups fit into a round
	stripeRange     = 100       // entries
	stripeReadBytes = 1 << 10
	stripeSettle    = 300 * time.Millisecond // for copies that the ack quorum did not wait for
)

const (
	figureBandwidth = "acknowledged payload"
	figureSingle    = "read of one entry"
	figureRange     = "read of 100 entries"
	figureTouched   = "bookies asked for 100 entries"
)

// stripeShapes are those that are compared, with each ack quorum.
func stripeShapes() (all []ledger.Quorum) {
	for _, ack := range []int{2, 3} {
		for _, q := range []ledger.Quorum{{Ensemble: 3, Write: 3}, {Ensemble: 5, Write: 3}, {Ensemble: 5, Write: 5}} {
			q.Ack = ack
			all = append(all, q)
		}
	}
	return all
}

// stripeArm is what one measurement of writes varies.
type stripeArm struct {
	world   string
	quorum  ledger.Quorum
	ledgers int
	payload int
}

func (a stripeArm) cell() string {
	return fmt.Sprintf("%s/write/%s/%d ledgers/%d B", a.world, shape(a.quorum), a.ledgers, a.payload)
}

func (a stripeArm) load(warm, length time.Duration) closedLoad {
	window := min(stripeInFlight, stripeBytes/a.payload)
	return closedLoad{window: max(window*2/(a.ledgers+1), 4), warm: warm, length: length, payload: a.payload}
}

func stripeReadCell(world string, q ledger.Quorum) string {
	return fmt.Sprintf("%s/read/%s", world, shape(q))
}

func measureStriping(ctx context.Context, r *run) error {
	if err := r.stripeInWorlds(ctx); err != nil {
		return err
	}
	return r.stripeOnThisMachine(ctx)
}

// write loads ledgers of one arm and returns the payload bytes a second that were acknowledged.
func (a stripeArm) write(h host.Host, c *client.Client, load closedLoad) (float64, error) {
	o := client.DefaultCreateOptions()
	o.Quorum = a.quorum
	var writers []*client.Writer
	for range a.ledgers {
		w, err := c.Create(o)
		if err != nil {
			return 0, err
		}
		writers = append(writers, w)
	}
	got, err := load.run(h, writers)
	for _, w := range writers {
		err = errors.Join(err, w.Close())
	}
	return got, err
}

func (r *run) sampleStripeWrite(a stripeArm, bytesPerSecond float64) {
	rate := stripeRate
	if a.world == slowVirtual {
		rate = stripeVirtual
	}
	g := r.group("Writes: "+slowGroup(a.world), fmt.Sprintf(
		"Closed loop on five bookies whose journals take %d MiB a second each; all ledgers of an arm together.", rate>>20))
	c := g.cell(a.cell(), "shape", shape(a.quorum), "ledgers", fmt.Sprint(a.ledgers), "entry", fmt.Sprintf("%d B", a.payload))
	c.sample(quantity{figureBandwidth, "B/s", clockOf(a.world), reports.HigherBetter}, bytesPerSecond)
}

// stripeInWorlds has one world for each seed and arm.
func (r *run) stripeInWorlds(ctx context.Context) error {
	warm, length := 300*time.Millisecond, either(r, 1500*time.Millisecond, 300*time.Millisecond)
	for seed := range either(r, uint64(5), 1) {
		for _, q := range stripeShapes() {
			for _, ledgers := range []int{1, 10} {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				a := stripeArm{slowVirtual, q, ledgers, 4 << 10}
				o := virtualOptions{seed: r.Seed + seed, bookies: stripeBookies, client: virtualClientConfig()}
				err := inVirtual(o, func(v *virtual, h host.Host, c *client.Client) error {
					if err := v.capJournals(h, stripeVirtual); err != nil {
						return err
					}
					got, err := a.write(h, c, a.load(warm, length))
					r.sampleStripeWrite(a, got)
					return err
				})
				if err != nil {
					return fmt.Errorf("%s: %w", a.cell(), err)
				}
			}
			if err := r.stripeReadsInWorld(q, r.Seed+seed); err != nil {
				return fmt.Errorf("reads of %s: %w", shape(q), err)
			}
		}
		r.say("seed %d in the simulator", r.Seed+seed)
	}
	return nil
}

// capJournals waits until the bookies have filled their files, and limits what their journals take from then on.
func (v *virtual) capJournals(h host.Host, bytesPerSecond int64) error {
	if !h.Root().Sleep(2 * time.Second) {
		return host.ErrStopping
	}
	for _, n := range v.bookies {
		p := sim.SSD()
		p.BytesPerSecond = bytesPerSecond
		n.Disk(bookie.JournalVolume).SetProfile(p)
	}
	return nil
}

// stripeReadsInWorld reads a closed ledger, and counts the bookies that the client writes to meanwhile.
func (r *run) stripeReadsInWorld(q ledger.Quorum, seed uint64) error {
	asked := map[string]bool{}
	o := virtualOptions{
		seed: seed, bookies: stripeBookies, client: virtualClientConfig(),
		onSend: func(s *sim.Send) {
			if s.From.Name() == virtualClient && s.To.Name() != virtualMetadata {
				asked[s.To.Name()] = true
			}
		},
	}
	return inVirtual(o, func(_ *virtual, h host.Host, c *client.Client) error {
		reader, err := writeToRead(h, c, q, 3*stripeRange, stripeReadBytes)
		if err != nil {
			return err
		}
		defer reader.Close()
		single, whole, err := timeReads(h, reader, 20, func() { clear(asked) })
		if err != nil {
			return err
		}
		cell := r.sampleStripeRead(slowVirtual, q, single, whole)
		cell.sample(count(figureTouched, reports.LowerBetter), float64(len(asked)))
		return nil
	})
}

func (r *run) sampleStripeRead(world string, q ledger.Quorum, single, whole time.Duration) *cell {
	g := r.group("Reads: "+slowGroup(world), fmt.Sprintf(
		"One reader of a closed ledger of %d B entries in the bookies' memory; where Qw is E, 100 entries are one batch read of one bookie.", stripeReadBytes))
	c := g.cell(stripeReadCell(world, q), "shape", shape(q))
	c.sample(quantity{figureSingle, "µs", clockOf(world), reports.LowerBetter}, micros(single))
	c.sample(quantity{figureRange, "µs", clockOf(world), reports.LowerBetter}, micros(whole))
	return c
}

// writeToRead makes a closed ledger and opens it.
func writeToRead(h host.Host, c *client.Client, q ledger.Quorum, entries, payload int) (*client.Reader, error) {
	o := client.DefaultCreateOptions()
	o.Quorum = q
	w, err := c.Create(o)
	if err != nil {
		return nil, err
	}
	_, err = openLoad{rate: 1e6, appends: entries, payload: payload}.run(h, w)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return c.Open(w.ID(), client.OpenOptions{})
}

// timeReads returns the mean time of a read of one entry, and of one of a range. before is called in front of the last
// range.
func timeReads(h host.Host, r *client.Reader, times int, before func()) (single, whole time.Duration, err error) {
	read := func(first, last ledger.EntryID) error {
		found, err := r.Read(first, last)
		found.Release()
		return err
	}
	began := h.Elapsed()
	for i := range times {
		if err := read(ledger.EntryID(i), ledger.EntryID(i)); err != nil {
			return 0, 0, err
		}
	}
	single = (h.Elapsed() - began) / time.Duration(times)
	began = h.Elapsed()
	for i := range times {
		if i == times-1 {
			before()
		}
		first := ledger.EntryID(i % 3 * stripeRange)
		if err := read(first, first+stripeRange-1); err != nil {
			return 0, 0, err
		}
	}
	return single, (h.Elapsed() - began) / time.Duration(times), nil
}

// stripeOnThisMachine lets all arms take turns in one cluster.
func (r *run) stripeOnThisMachine(ctx context.Context) error {
	o := realOptions{bookies: stripeBookies, client: client.DefaultConfig()}
	rounds := either(r, 5, 1)
	return r.inReal(ctx, o, func(ctx context.Context, c *real) error {
		for round := range rounds {
			for _, q := range either(r, stripeShapes(), stripeShapes()[:2]) {
				if err := r.stripeReadRound(c, q); err != nil {
					return err
				}
				if err := r.stripeWriteRound(ctx, c, q); err != nil {
					return err
				}
			}
			r.say("round %d of %d on this machine", round+1, rounds)
		}
		return nil
	})
}

func (r *run) stripeWriteRound(ctx context.Context, c *real, q ledger.Quorum) error {
	c.capJournals(stripeRate)
	defer c.capJournals(0)
	warm, length := 300*time.Millisecond, either(r, 1500*time.Millisecond, 200*time.Millisecond)
	arms := []stripeArm{{slowReal, q, 1, 16 << 10}, {slowReal, q, 10, 16 << 10}, {slowReal, q, 1, 1 << 10}}
	for _, a := range either(r, arms, arms[:2]) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		got, err := a.write(c.client.Host, c.client.Client, a.load(warm, length))
		if err != nil {
			return fmt.Errorf("%s: %w", a.cell(), err)
		}
		r.sampleStripeWrite(a, got)
		time.Sleep(stripeSettle)
	}
	return nil
}

func (c *real) capJournals(bytesPerSecond int64) {
	for _, l := range c.limits {
		l.rate.Store(bytesPerSecond)
	}
}

func (r *run) stripeReadRound(c *real, q ledger.Quorum) error {
	h := c.client.Host
	reader, err := writeToRead(h, c.client.Client, q, 3*stripeRange, stripeReadBytes)
	if err != nil {
		return err
	}
	defer reader.Close()
	if _, _, err := timeReads(h, reader, 30, func() {}); err != nil { // warms up
		return err
	}
	single, whole, err := timeReads(h, reader, either(r, 300, 30), func() {})
	if err == nil {
		r.sampleStripeRead(slowReal, q, single, whole)
	}
	return err
}

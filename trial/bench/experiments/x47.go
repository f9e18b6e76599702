package experiments

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/reports"
	"lakebed/sim"
)

// an entry up to the LAC can be read while at most Qa-1 of its holders are down, but not from every replica.

// choice is how a reader picks the bookie to ask.
type choice string

const (
	anyBookie    choice = "any bookie of the ensemble"
	oneOfSet     choice = "one bookie of the write set"
	setWithRetry choice = "write set with retry" // the client's own way
)

const (
	choiceEntries   = 120 // of each world's ledger
	choicePayload   = 100
	choiceCuts      = 6                      // bookies that lose the writer in turn, while it appends
	choiceCutLength = 300 * time.Millisecond // longer than the writer waits for an answer
	choiceTimeout   = 100 * time.Millisecond // of adds
	choicePatience  = 50 * time.Millisecond  // of the reads past the client
	choiceSpares    = 1
)

const (
	figureReads       = "reads"
	figureNotFound    = "not found"
	figureUnavailable = "bookie down"
	figureFailedReads = "failed for any reason"
)

// choiceShapes are those of the claim: unstriped and striped, one failure and two.
func choiceShapes() []ledger.Quorum {
	return []ledger.Quorum{
		{Ensemble: 3, Write: 3, Ack: 2}, {Ensemble: 5, Write: 3, Ack: 2}, {Ensemble: 5, Write: 3, Ack: 3}, {Ensemble: 5, Write: 5, Ack: 3},
	}
}

func choiceCell(q ledger.Quorum, how choice) string { return shape(q) + "/" + string(how) }

func measureReplicaChoice(ctx context.Context, r *run) error {
	for seed := range either(r, uint64(30), 2) {
		for _, q := range choiceShapes() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			c := chosen{run: r, quorum: q, random: sim.Stream(r.Seed+seed, "experiment/choice"), took: map[choice][]float64{}}
			config := virtualClientConfig()
			config.AddTimeout, config.SpeculativeReadTimeout = choiceTimeout, 0
			err := inVirtual(virtualOptions{seed: r.Seed + seed, bookies: q.Ensemble + choiceSpares, client: config}, c.course)
			if err != nil {
				return fmt.Errorf("%s: %w", shape(q), err)
			}
			c.latencies()
		}
	}
	return nil
}

// chosen is one world: a ledger of which some entries have only Qa copies, and then Qa-1 bookies fewer.
type chosen struct {
	*run
	quorum ledger.Quorum
	random *rand.Rand
	took   map[choice][]float64
}

// course reads with another client than it writes with: the cuts have broken the writer's connections, and a connection that
// breaks under a read is a failure too. What is counted is reads with Qa-1 failures.
func (c *chosen) course(v *virtual, h host.Host, engine *client.Client) error {
	id, err := c.write(v, h, engine)
	if err != nil {
		return err
	}
	return withClient(h, virtualClientConfig(), func(fresh *client.Client) error {
		r, err := fresh.Open(id, client.OpenOptions{})
		if err != nil {
			return err
		}
		defer r.Close()
		ensemble := r.Metadata().Fragments[0].Ensemble
		down, err := c.crash(v, h, ensemble)
		if err != nil {
			return err
		}
		return c.read(h, r, ensemble, down)
	})
}

// crash kills Qa-1 bookies.
func (c *chosen) crash(v *virtual, h host.Host, ensemble []ledger.BookieID) (down map[ledger.BookieID]bool, err error) {
	down = map[ledger.BookieID]bool{}
	for _, i := range c.random.Perm(len(ensemble))[:c.quorum.Ack-1] {
		down[ensemble[i]] = true
	}
	crashed := h.Root().NewGate()
	v.later(0, func() {
		for i, n := range v.bookies {
			if down[virtualAddress(i)] {
				n.Crash(sim.KillProcess())
			}
		}
		crashed.Open()
	})
	if !crashed.Wait() {
		return nil, host.ErrStopping
	}
	return down, nil
}

// write makes a ledger whose ensemble does not change, while one bookie after the other is cut off from the writer: an
// entry reaches Qa bookies then, and what was sent to the other is lost.
func (c *chosen) write(v *virtual, h host.Host, engine *client.Client) (ledger.ID, error) {
	o := client.DefaultCreateOptions()
	o.Quorum = c.quorum
	o.Writer.DelayEnsembleChange = true
	w, err := engine.Create(o)
	if err != nil {
		return 0, err
	}
	ensemble := w.Metadata().Fragments[0].Ensemble
	for entry := range choiceEntries {
		if entry%(choiceEntries/choiceCuts) == 0 && c.quorum.Write > c.quorum.Ack {
			at := v.number(ensemble[c.random.IntN(len(ensemble))])
			v.later(0, func() { v.world.Net().Partition(virtualClient, virtualBookie(at), false) })
			v.later(choiceCutLength, func() {
				v.world.Net().Reset(virtualClient, virtualBookie(at)) // else what is under way would still arrive
				v.world.Net().Heal(virtualClient, virtualBookie(at))
			})
		}
		if _, err := w.AppendOne(make([]byte, choicePayload)); err != nil {
			return 0, fmt.Errorf("append entry %d: %w", entry, err)
		}
		if !h.Root().Sleep(time.Duration(c.random.IntN(20)) * time.Millisecond) {
			return 0, host.ErrStopping
		}
	}
	return w.ID(), w.Close()
}

// read reads every entry in each way.
func (c *chosen) read(h host.Host, r *client.Reader, ensemble []ledger.BookieID, down map[ledger.BookieID]bool) error {
	channels := map[ledger.BookieID]*channel.Channel{}
	for _, b := range ensemble {
		if down[b] {
			continue
		}
		one, err := channel.Dial(h, h.Root(), string(b), host.Within(h, h.Root(), time.Second), channel.DefaultConfig())
		if err != nil {
			return err
		}
		defer one.Close()
		channels[b] = one
	}
	for entry := range r.LastAddConfirmed() + 1 {
		m := r.Metadata()
		fragment := m.FragmentOf(entry)
		set := writeSet(fragment.Ensemble, c.quorum.Write, entry)
		for _, way := range []struct {
			how  choice
			from []ledger.BookieID
		}{{anyBookie, fragment.Ensemble}, {oneOfSet, set}} {
			began, asked := h.Elapsed(), way.from[c.random.IntN(len(way.from))]
			c.count(way.how, askOne(channels[asked], r.ID(), entry), h.Elapsed()-began)
		}
		began := h.Elapsed()
		found, err := r.Read(entry, entry)
		found.Release()
		c.count(setWithRetry, err, h.Elapsed()-began)
	}
	return nil
}

// writeSet is where an entry lies: entry e is on the bookies at (e+i) mod E, i below Qw.
func writeSet(ensemble []ledger.BookieID, write int, entry ledger.EntryID) (set []ledger.BookieID) {
	for i := range write {
		set = append(set, ensemble[(int64(entry)+int64(i))%int64(len(ensemble))])
	}
	return set
}

// errDown stands for a bookie that cannot be asked.
var errDown = errors.New("the bookie is down")

// askOne asks one bookie, and nobody else. A nil channel is a bookie that is down.
func askOne(c *channel.Channel, id ledger.ID, entry ledger.EntryID) error {
	if c == nil {
		return errDown
	}
	answer, err := c.ReadEntry(id, entry, choicePatience)
	if err == nil {
		answer.Release()
	}
	return err
}

// count adds the outcome of one read.
func (c *chosen) count(how choice, err error, took time.Duration) {
	one := c.cellOf(how)
	missing := errors.Is(err, channel.ErrNoEntry) || errors.Is(err, channel.ErrNoLedger) || errors.Is(err, client.ErrNoSuchEntry)
	for _, f := range []struct {
		name string
		yes  bool
	}{
		{figureReads, true}, {figureNotFound, missing}, {figureUnavailable, errors.Is(err, errDown)}, {figureFailedReads, err != nil},
	} {
		one.add(count(f.name, reports.NeitherBetter), f.yes)
	}
	if err == nil {
		c.took[how] = append(c.took[how], millis(took))
	}
}

// latencies adds the median latency of this world to the arms.
func (c *chosen) latencies() {
	for _, how := range []choice{anyBookie, oneOfSet, setWithRetry} {
		if len(c.took[how]) > 0 {
			c.cellOf(how).sample(quantity{"latency", "ms", reports.ClockVirtual, reports.LowerBetter}, reports.Median(c.took[how]))
		}
	}
}

func (c *chosen) cellOf(how choice) *cell {
	g := c.group("Reads while Qa-1 bookies are down", "Sums over all worlds; each entry is read once in each way. Latency is of reads that found their entry, the median of each world.")
	return g.cell(choiceCell(c.quorum, how), "shape", shape(c.quorum), "who is asked", string(how))
}

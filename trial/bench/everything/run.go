package everything

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/model"
	"lakebed/trial/bench/ledgers"
	"lakebed/trial/bench/stuck"
	"lakebed/workloads/agenda"
	"lakebed/workloads/replicated"
)

// Options say what to run.
type Options struct {
	Dir      string
	Duration time.Duration // of the work; looking at everything in the end comes on top
	Bookies  int
	Clients  int // each with a host and connections of its own
	Sessions int // of each
	Pace     time.Duration
	Quorum   ledger.Quorum
	Logger   *slog.Logger
}

// DefaultOptions is four bookies at 3/3/2: one may be away, and is replaced.
func DefaultOptions() Options {
	return Options{
		Duration: 3 * time.Second, Bookies: 4, Clients: 3, Sessions: 4, Pace: 200 * time.Microsecond,
		Quorum: ledger.Quorum{Ensemble: 3, Write: 3, Ack: 2},
	}
}

// Sessions of the one client that looks at everything in the end have numbers from here on.
const (
	sessionsMax = 100 // of one client
	verifier    = 900
)

// Times of a round in which one bookie is away or hangs, as parts of the whole: even a short run has some.
const (
	roundsMin = 6
	roundMax  = 2 * time.Second
)

// Report is what came of it.
type Report struct {
	Operations int64            `json:"operations"`
	Answers    map[string]int64 `json:"answers"` // by operation and outcome
	Restarts   int              `json:"restarts"`
	Hangs      int              `json:"hangs"`   // rounds in which a journal did not sync
	Held       int              `json:"held"`    // calls that waited for that
	Ledgers    int              `json:"ledgers"` // that exist in the end
	Changes    int              `json:"changes"` // of ensembles, of these ledgers
	Stuck      []string         `json:"stuck"`   // ledgers that could not be opened in the end
	Violations []model.Violation
}

// wanted is what a run must have seen often enough that it proves something.
func wanted() []string {
	return []string{
		"create ok", "append ok", "append fenced", "close ok", "recover-open ok", "confirmed-read ok", "read found", "batch-read found",
		"delete ok",
	}
}

// Weak names what did not happen.
func (r *Report) Weak() (missing []string) {
	for _, answer := range wanted() {
		if r.Answers[answer] == 0 {
			missing = append(missing, answer)
		}
	}
	if r.Restarts == 0 {
		missing = append(missing, "restart of a bookie")
	}
	if r.Hangs == 0 || r.Held == 0 {
		missing = append(missing, "journal that does not sync")
	}
	if r.Changes == 0 {
		missing = append(missing, "change of an ensemble")
	}
	return missing
}

// run is a run under way.
type run struct {
	options Options
	lab     *replicated.Lab
	cluster *ledgers.Local
	valve   *stuck.Valve // at the journal of the first bookie
	report  Report

	mutex   sync.Mutex
	problem error
}

func (r *run) fail(err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.problem = errors.Join(r.problem, err)
}

// Run lets everything happen, and checks it. The error is about what hindered the run; wrong answers are in the report.
func Run(ctx context.Context, o Options) (Report, error) {
	r := &run{options: o, valve: stuck.NewValve(bookie.JournalVolume, stuck.Syncs), lab: replicated.NewLab(mix(o.Quorum), agenda.New(1))}
	var err error
	r.cluster, err = ledgers.StartLocal(ctx, ledgers.LocalOptions{
		Dir: o.Dir, Bookies: o.Bookies, Logger: o.Logger,
		Configure: func(_ int, c *node.Config) { small(c) },
		WrapHost: func(name string, h host.Host) host.Host {
			if name == ledgers.BookieNode(0) {
				return r.valve.Wrap(h)
			}
			return h
		},
	})
	if err != nil {
		return r.report, fmt.Errorf("start a cluster of %d bookies: %w", o.Bookies, err)
	}
	var clients sync.WaitGroup
	for number := range o.Clients {
		clients.Go(func() { r.fail(r.work(number)) })
	}
	r.fail(r.disturb(ctx))
	r.lab.Finish()
	clients.Wait()
	r.fail(r.verify())
	r.fail(r.cluster.Close())
	r.report.Operations, r.report.Answers = r.lab.Recorder.Operations(), r.lab.Recorder.Answers()
	r.report.Violations = model.CheckCluster(r.lab.Recorder.History())
	return r.report, errors.Join(r.problem, context.Cause(ctx))
}

func mix(q ledger.Quorum) replicated.Mix {
	return replicated.Mix{
		Write: 10, Tail: 5, CatchUp: 6, TakeOver: 3, Delete: 1, Foreign: 2, Quorum: q,
		Digests: []ledger.DigestType{ledger.CRC32C, ledger.MAC, ledger.CRC32}, EntriesMin: 20, EntriesMax: 300, Window: 16,
		PayloadBytesMax: 3000, BatchCountMax: 20, BatchBytesMax: 20_000, TailPolls: 10, LedgersMax: 1 << 20,
	}
}

// small makes every file roll and every cache fill within a second.
func small(c *node.Config) {
	b := &c.Store
	b.Journal.FileBytes, b.Journal.GroupBytesMax = 1<<20, 64<<10
	b.EntryLog.LogBytesMax, b.EntryLog.GroupBytes = 512<<10, 32<<10
	b.EntryLog.IndexCacheBytesMax, b.EntryLog.ReadCacheBytesMax = 64<<10, 64<<10
	b.WriteCacheBytesMax, b.ChunkBytes = 512<<10, 16<<10
	b.EntryBytesMax, b.BatchBytesMax = 8<<10, 64<<10
	b.CheckpointInterval = 200 * time.Millisecond
	c.Server.BatchBytesMax = b.BatchBytesMax / 2
}

func (r *run) clientConfig() client.Config {
	c := client.DefaultConfig()
	c.WindowEntries = 32
	c.AddTimeout, c.ReadTimeout, c.SpeculativeReadTimeout = time.Second, time.Second, 100*time.Millisecond
	c.Pool.BackoffMax, c.Pool.SuspectPause = 200*time.Millisecond, 500*time.Millisecond
	return c
}

// disturb stops bookies and has the first one's journal hang, one after the other, until the time of work is over.
func (r *run) disturb(ctx context.Context) error {
	round := min(r.options.Duration/roundsMin, roundMax)
	end := time.Now().Add(r.options.Duration)
	for i := 0; time.Now().Add(round).Before(end); i++ {
		pause(ctx, round/3)
		if i%3 == 2 {
			r.hang(ctx, round*2/3)
			continue
		}
		if err := r.restart(ctx, i%r.options.Bookies, round/3); err != nil {
			return err
		}
		pause(ctx, round/3)
		if ctx.Err() != nil {
			return nil
		}
	}
	pause(ctx, time.Until(end))
	return nil
}

func (r *run) hang(ctx context.Context, d time.Duration) {
	r.valve.Shut()
	pause(ctx, d)
	r.report.Hangs++
	r.report.Held = r.valve.Met()
	r.valve.Open()
}

func (r *run) restart(ctx context.Context, i int, away time.Duration) error {
	if err := r.cluster.StopBookie(i); err != nil {
		return fmt.Errorf("stop bookie %d: %w", i, err)
	}
	pause(ctx, away)
	r.report.Restarts++
	if err := r.cluster.StartBookie(ctx, i); err != nil {
		return fmt.Errorf("start bookie %d again: %w", i, err)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// withSession lets use work with a client and its own session of the store: sessions without a client need both.
func (r *run) withSession(use func(h *oshost.Host, c *client.Client, store *service.Client)) error {
	h, err := oshost.New(oshost.Config{Logger: r.options.Logger})
	if err != nil {
		return err
	}
	store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(r.cluster.Metadata()))
	if err != nil {
		return errors.Join(err, h.Close())
	}
	c, err := client.New(h, h.Root(), store, r.clientConfig())
	if err != nil {
		return errors.Join(err, store.Close(), h.Close())
	}
	use(h, c, store)
	c.Close()
	err = errors.Join(store.Close(), h.Close())
	if used := h.Memory().InUse(); used != 0 {
		err = errors.Join(err, fmt.Errorf("a client leaves %d bytes in use", used))
	}
	return err
}

// work is one client's life.
func (r *run) work(number int) error {
	return r.withSession(func(h *oshost.Host, c *client.Client, store *service.Client) {
		tasks := h.Root().New("sessions")
		for i := range r.options.Sessions {
			id := model.ClientID(sessionsMax*number + i)
			s := replicated.NewSession(h, h.Root(), r.lab, c, id, r.options.Pace)
			s.UseBare(replicated.Bare{Store: store, Channel: channel.DefaultConfig()})
			tasks.Go("session", s.Run)
		}
		tasks.Wait()
	})
}

// verify opens and reads everything once more, and counts what became of ensembles.
func (r *run) verify() error {
	var counted error
	ended := r.withSession(func(h *oshost.Host, c *client.Client, store *service.Client) {
		left, _ := replicated.NewSession(h, h.Root(), r.lab, c, verifier, time.Microsecond).Verify()
		for _, one := range left {
			r.report.Stuck = append(r.report.Stuck, fmt.Sprintf("ledger %d: %v", one.Ledger, one.Err))
		}
		counted = r.countChanges(metadata.NewLedgers(h, h.Root(), store, metadata.DefaultLedgersConfig()))
	})
	return errors.Join(ended, counted)
}

func (r *run) countChanges(stored *metadata.Ledgers) error {
	for _, id := range r.lab.Ledgers() {
		found, err := stored.Read(id, nil)
		if errors.Is(err, metadata.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("count the fragments of ledger %d: %w", id, err)
		}
		r.report.Changes += len(found.Metadata.Fragments) - 1
		r.report.Ledgers++
	}
	return nil
}

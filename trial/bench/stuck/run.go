package stuck

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/trial/bench/bounds"
	"lakebed/trial/bench/ledgers"
)

// Options say what to run.
type Options struct {
	Dir          string        `json:"dir"`
	Bookies      int           `json:"bookies"`
	Quorum       ledger.Quorum `json:"quorum"`
	Writers      int           `json:"writers"`
	PayloadBytes int           `json:"payload_bytes"`

	Volume string `json:"volume"` // that hangs: bookie.JournalVolume or LedgerVolume
	Call   Call   `json:"call"`   // that hangs

	Before time.Duration `json:"before"` // at full speed, with all disks
	During time.Duration `json:"during"` // while one hangs
	After  time.Duration `json:"after"`  // when it works again
	// LedgerTime is after how long a writer turns to a new ledger. New ledgers choose among all bookies that are listed, and
	// one whose disk hangs stays listed: so it is met again and again.
	LedgerTime time.Duration `json:"ledger_time"`

	Client client.Config `json:"-"`
	Bookie node.Config   `json:"-"` // of each
	// Small replaces Client and Bookie by settings whose sum is a few hundred megabytes.
	Small bool `json:"small"`
	// Unbounded lifts the client's bounds after the sum was taken, to see that the check can fail.
	Unbounded bool `json:"unbounded"`
	// LazyCollector leaves Go's collector as it is: it lets the heap double. Otherwise it is told the sum of the bounds and half
	// of bounds.Slack, as a process that has to stay within a bound is told (GOMEMLIMIT).
	LazyCollector bool `json:"lazy_collector"`
	// HeapProfile is a file that gets a profile of the heap just before the disk works again. Empty: none.
	HeapProfile string `json:"heap_profile"`
	// AddTimeout replaces the client's, if it is not zero.
	AddTimeout time.Duration `json:"add_timeout"`

	Logger *slog.Logger `json:"-"` // of all nodes; nil: warnings go to stderr
}

// DefaultOptions is 3/3/2 on four bookies, one of which stops to sync its journal, for a minute in all.
func DefaultOptions() Options {
	return Options{
		Bookies: 4, Quorum: ledger.Quorum{Ensemble: 3, Write: 3, Ack: 2}, Writers: 4, PayloadBytes: 1 << 10,
		Volume: bookie.JournalVolume, Call: Syncs,
		Before: 10 * time.Second, During: 40 * time.Second, After: 10 * time.Second, LedgerTime: 5 * time.Second,
		Client: client.DefaultConfig(), Bookie: node.DefaultConfig(), Small: true,
	}
}

// small makes the settings so tight that a queue without a bound would stand out.
func (o *Options) small() {
	c, b := &o.Client, &o.Bookie
	*c, *b = client.DefaultConfig(), node.DefaultConfig()
	c.WindowEntries, c.WindowBytes, c.AppendBytesMax = 1024, 4<<20, 16<<20
	// The writers share a connection that holds less than their windows. That it is full says nothing about the bookie.
	c.Pool.ParkedBytesMax, c.Pool.ParkedMax = 1<<20, 1<<10
	c.Pool.Channel.OutputBytesMax, c.Pool.Channel.RequestsMax = 2<<20, 2<<10
	b.Store.WriteCacheBytesMax, b.Store.Journal.FileBytes, b.Store.EntryLog.LogBytesMax = 24<<20, 64<<20, 128<<20
	b.Store.Journal.GroupBytesMax = 2 << 20
	b.Store.EntryLog.ItemsMax = 128 << 10
	b.Server.BatchesMax, b.Server.BatchEntriesMax = 16, 256
}

// unbound gives the client windows and lines of a quarter of a gigabyte.
func (o *Options) unbound() {
	const much = 256 << 20
	c := &o.Client
	c.WindowEntries, c.WindowBytes, c.AppendBytesMax = much/o.PayloadBytes, much, much
	c.Pool.ParkedBytesMax, c.Pool.Channel.OutputBytesMax = much, much
	c.Pool.Channel.RequestsMax = much / o.PayloadBytes
}

// Phase is what happened while the disk was in one state.
type Phase struct {
	Seconds             float64 `json:"seconds"`
	Appended            int64   `json:"appended"` // acknowledged
	Failed              int64   `json:"failed"`
	Changes             int     `json:"changes"`               // of ensembles
	LongestPauseSeconds float64 `json:"longest_pause_seconds"` // between two acknowledgements of one writer, new ledgers included
}

// Report is what Run found.
type Report struct {
	Before  Phase  `json:"before"`
	During  Phase  `json:"during"`
	After   Phase  `json:"after"`
	Held    int    `json:"held"`    // calls that waited when the valve was opened
	Ledgers int    `json:"ledgers"` // written
	Changes int    `json:"changes"` // of their ensembles
	Memory  Memory `json:"memory"`

	Bounds       []bounds.Bound `json:"bounds"`
	AllowedBytes int64          `json:"allowed_bytes"` // their sum and bounds.Slack
	AddTimeout   time.Duration  `json:"add_timeout"`
	Spare        bool           `json:"spare"` // there were more bookies than an ensemble needs
}

// Run runs a cluster of which the first bookie's disk hangs for a while.
func Run(ctx context.Context, o Options) (r Report, err error) {
	if o.Small {
		o.small()
	}
	if o.AddTimeout > 0 {
		o.Client.AddTimeout = o.AddTimeout
	}
	shape := Shape{Bookies: o.Bookies, Writers: o.Writers, Quorum: o.Quorum}
	r.Bounds = Bounds(shape, &o.Client, &o.Bookie)
	r.AllowedBytes = bounds.Sum(r.Bounds) + bounds.Slack
	if o.Unbounded {
		o.unbound()
	}
	if !o.LazyCollector {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(bounds.Sum(r.Bounds) + bounds.Slack/2))
	}
	stop := watch()
	valve := NewValve(o.Volume, o.Call)
	cluster, err := ledgers.StartLocal(ctx, ledgers.LocalOptions{
		Dir: o.Dir, Bookies: o.Bookies, Logger: o.Logger, Configure: o.configure,
		WrapHost: func(name string, h host.Host) host.Host {
			if name == ledgers.BookieNode(0) {
				return valve.Wrap(h)
			}
			return h
		},
	})
	if err != nil {
		return r, fmt.Errorf("start a cluster of %d bookies: %w", o.Bookies, err)
	}
	r.Spare, r.AddTimeout = o.Bookies > o.Quorum.Ensemble, o.Client.AddTimeout
	err = r.run(ctx, &o, cluster, valve)
	valve.Open() // nothing can end while it waits
	err = errors.Join(err, cluster.Close())
	var looked error
	r.Memory, looked = stop()
	return r, errors.Join(err, looked)
}

// configure gives a bookie the settings of the run. Who it is stays the cluster's to say.
func (o *Options) configure(_ int, c *node.Config) { *c = o.Bookie }

// run appends in all phases.
func (r *Report) run(ctx context.Context, o *Options, cluster *ledgers.Local, valve *Valve) error {
	c, err := ledgers.Dial(cluster.Metadata(), o.Client, o.Logger)
	if err != nil {
		return err
	}
	if err := c.AwaitBookies(o.Bookies, host.Within(c.Host, c.Host.Root(), ledgers.DefaultStartTimeout)); err != nil {
		return errors.Join(err, c.Close())
	}
	l := &load{
		client: c.Client, create: createOptions(o.Quorum), payload: make([]byte, o.PayloadBytes),
		ops: o.Client.WindowEntries + 1, ledger: o.LedgerTime,
	}
	l.start(o.Writers)
	r.Before = l.phase(o.Before, firstMost)
	valve.Shut()
	r.During = l.phase(o.During, 0)
	r.Held = valve.Held()
	err = profileHeap(o.HeapProfile)
	valve.Open()
	r.After = l.phase(o.After, firstMost)
	err = errors.Join(err, l.stop())
	r.Ledgers, r.Changes = l.ledgers, l.changes
	return errors.Join(err, c.Close(), context.Cause(ctx))
}

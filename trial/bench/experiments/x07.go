package experiments

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	bookienode "lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/reports"
)

// batch reads cost less an entry than single ones, the more so the smaller the entries.

// where entries are when they are read.
type where string

const (
	fromCache where = "hit"  // the bookies' write caches
	fromDisk  where = "miss" // the entry logs, of which the page cache holds nothing
)

const (
	batchSmall     = 100      // bytes; the size that the hypothesis speaks of
	batchCount     = 100      // entries a batch; likewise
	batchLarge     = 64 << 10 // bytes, the largest
	batchReaders   = 20       // topics that are read at a time
	batchNever     = time.Hour
	batchSpare     = 20 // entries of each ledger that no arm reads
	batchBookies   = 3
	batchHitBudget = 10 << 20 // bytes of each ledger that is read from the cache, so that all fit
)

const (
	figureEntry    = "time per entry"
	figureReadCPU  = "processor time per entry"
	figureAllocs   = "allocations per entry"
	figureRequests = "reads per second"
)

// batchArm is one way of reading. Count zero: single reads.
type batchArm struct {
	from    where
	size    int
	count   int
	readers int
}

func (a batchArm) way() string {
	if a.count == 0 {
		return "single"
	}
	return fmt.Sprint(a.count)
}

func (a batchArm) cell() string {
	return fmt.Sprintf("%s/%d B/%s/%d readers", a.from, a.size, a.way(), a.readers)
}

// entries is how many of a size are read in a round, by each reader.
func (a batchArm) entries(r *run) int {
	n := min(either(r, 2000, 200), batchHitBudget/a.size)
	if a.from == fromDisk {
		n = min(n, either(r, 500, 100))
	}
	return max(n/a.readers, batchCount)
}

func batchCounts() []int { return []int{0, 1, 10, 100, 500} }

func (r *run) batchSizes(from where) []int {
	if from == fromDisk {
		return either(r, []int{batchSmall, 1 << 10, 16 << 10}, []int{batchSmall})
	}
	return either(r, []int{batchSmall, 256, 1 << 10, 4 << 10, 16 << 10, batchLarge}, []int{batchSmall, batchLarge})
}

func measureBatchReads(ctx context.Context, r *run) error {
	o := realOptions{
		bookies: batchBookies, client: client.DefaultConfig(),
		configure: func(_ int, c *bookienode.Config) { c.Store.CheckpointInterval = batchNever },
	}
	for _, from := range []where{fromCache, fromDisk} {
		err := r.inReal(ctx, o, func(ctx context.Context, c *real) error { return r.batchRounds(ctx, c, from) })
		if err != nil {
			return err
		}
	}
	for _, from := range []where{fromCache, fromDisk} {
		r.lines(r.Seed, reports.Plot{
			Name: "entry-" + string(from), Title: fmt.Sprintf("Time per entry, one reader, %s (wall clock)", batchWords(from)),
			X: reports.Axis{Label: "entries asked for at a time", Unit: "1", Log: true},
			Y: reports.Axis{Label: "time per entry", Unit: "µs", Log: true},
		}, batchGroup(from, 1), quantity{name: figureEntry}, "entry", func(labels map[string]string) float64 {
			x, err := strconv.ParseFloat(labels["batch"], 64)
			if err != nil {
				return 1 // single reads
			}
			return x
		})
	}
	return nil
}

func batchWords(from where) string {
	if from == fromCache {
		return "from the bookies' memory"
	}
	return "from cold entry logs"
}

func batchGroup(from where, readers int) string {
	return fmt.Sprintf("Reads %s, %d at a time", batchWords(from), readers)
}

// batchRounds writes the ledgers, and reads all arms in turns.
func (r *run) batchRounds(ctx context.Context, c *real, from where) error {
	set := map[int][]ledger.ID{}
	for _, size := range r.batchSizes(from) {
		ids, err := r.batchLedgers(c, from, size)
		if err != nil {
			return err
		}
		set[size] = ids
	}
	rounds := either(r, 5, 1)
	for round := range rounds + 1 { // the first one warms up: connections, pools, the collector
		if from == fromDisk {
			if err := c.chill(ctx, r.Logger); err != nil {
				return err
			}
			if err := r.connect(c, set); err != nil {
				return err
			}
		}
		for _, size := range r.batchSizes(from) {
			for i, n := range batchCounts() {
				for _, readers := range r.batchReaders(from, size) {
					if ctx.Err() != nil {
						return ctx.Err()
					}
					a := batchArm{from, size, n, readers}
					if err := r.batchRead(c, a, set[size], i, round > 0); err != nil {
						return fmt.Errorf("%s: %w", a.cell(), err)
					}
				}
			}
		}
		r.say("round %d of %d, %s", round, rounds, batchWords(from))
	}
	return nil
}

// batchReaders are how many ledgers are read at a time: many for the smallest entries in memory, else one.
func (r *run) batchReaders(from where, size int) []int {
	if from == fromCache && size == batchSmall {
		return []int{1, batchReaders}
	}
	return []int{1}
}

// batchLedgers writes what the arms of one size read. From disk each way of reading has a stretch of its own, so that none
// finds what another one has brought into memory.
func (r *run) batchLedgers(c *real, from where, size int) (ids []ledger.ID, err error) {
	stretches := 1
	if from == fromDisk {
		stretches = len(batchCounts())
	}
	readers := r.batchReaders(from, size)
	for range readers[len(readers)-1] {
		a := batchArm{from: from, size: size, readers: 1}
		reader, err := writeToRead(c.client.Host, c.client.Client, client.DefaultCreateOptions().Quorum, stretches*a.entries(r)+batchSpare, size)
		if err != nil {
			return nil, err
		}
		reader.Close()
		ids = append(ids, reader.ID())
	}
	return ids, nil
}

// connect reads the entries behind all stretches, so that the client has its connections.
func (r *run) connect(c *real, set map[int][]ledger.ID) error {
	for _, size := range r.batchSizes(fromDisk) {
		for _, id := range set[size] {
			reader, err := c.client.Open(id, client.OpenOptions{})
			if err != nil {
				return err
			}
			last := reader.LastAddConfirmed()
			_, err = readOne(reader, last-batchSpare/2, batchSpare/2, 0)
			reader.Close()
			if err != nil {
				return fmt.Errorf("connect to the bookies of ledger %d: %w", id, err)
			}
		}
	}
	return nil
}

// batchRead reads one arm, and samples it if the round counts. From disk it reads the stretch of this number.
func (r *run) batchRead(c *real, a batchArm, ids []ledger.ID, stretch int, counts bool) error {
	n, first := a.entries(r), ledger.EntryID(0)
	if a.from == fromDisk {
		first = ledger.EntryID(stretch * n)
	}
	var readers []*client.Reader
	for _, id := range ids[:a.readers] {
		reader, err := c.client.Open(id, client.OpenOptions{})
		if err != nil {
			return err
		}
		defer reader.Close()
		readers = append(readers, reader)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, err := cpuMicros()
	if err != nil {
		return err
	}
	began := time.Now()
	calls, err := readAll(readers, first, n, a.count)
	took := time.Since(began)
	used, failed := cpuMicros()
	runtime.ReadMemStats(&after)
	if err = errors.Join(err, failed); err != nil || !counts {
		return err
	}
	entries := float64(n * a.readers)
	cell := r.group(batchGroup(a.from, a.readers), "3/3/2, one request of each reader under way. Processor time and allocations are those of client and bookies together.").
		cell(a.cell(), "entry", fmt.Sprintf("%d B", a.size), "batch", a.way())
	cell.sample(quantity{figureEntry, "µs", reports.ClockWall, reports.LowerBetter}, micros(took)/entries)
	cell.sample(quantity{figureReadCPU, "µs", reports.ClockCPU, reports.LowerBetter}, (used-cpu)/entries)
	cell.sample(count(figureAllocs, reports.LowerBetter), float64(after.Mallocs-before.Mallocs)/entries)
	cell.sample(quantity{figureRequests, "1/s", reports.ClockWall, reports.HigherBetter}, float64(calls)/took.Seconds())
	return nil
}

// readAll has each reader read n entries, and returns how many reads that took.
func readAll(readers []*client.Reader, first ledger.EntryID, n, count int) (calls int, err error) {
	var tasks sync.WaitGroup
	made, failed := make([]int, len(readers)), make([]error, len(readers))
	for i, reader := range readers {
		tasks.Go(func() { made[i], failed[i] = readOne(reader, first, n, count) })
	}
	tasks.Wait()
	for _, m := range made {
		calls += m
	}
	return calls, errors.Join(failed...)
}

func readOne(r *client.Reader, first ledger.EntryID, n, count int) (calls int, err error) {
	for at := first; at < first+ledger.EntryID(n); calls++ {
		var found *client.Entries
		if count == 0 {
			found, err = r.Read(at, at)
		} else {
			found, err = r.BatchRead(at, min(count, int(first)+n-int(at)), 0)
		}
		if err != nil {
			return calls, err
		}
		at += ledger.EntryID(len(found.List))
		found.Release()
	}
	return calls, nil
}

// chill restarts the bookies, so that they have nothing in memory, and drops their files from the page cache. The client
// begins anew too: its connections have ended.
func (c *real) chill(ctx context.Context, logger *slog.Logger) error {
	for i := range c.limits {
		if err := c.StopBookie(i); err != nil {
			return err
		}
	}
	if err := dropCached(c.dir); err != nil {
		return err
	}
	for i := range c.limits {
		if err := c.StartBookie(ctx, i); err != nil {
			return err
		}
	}
	if err := dropCached(c.dir); err != nil { // what the start has read
		return err
	}
	return c.newClient(logger)
}

// dropCached asks the kernel to forget the pages of every file below a directory. Only clean pages go.
func dropCached(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil // it went, or was renamed
		}
		f, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return fmt.Errorf("drop the cached pages of %s: %w", path, err)
		}
		return nil
	})
}

package experiments

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog"
	"lakebed/engine/seglog/message"
	"lakebed/engine/seglog/partition"
	"lakebed/reports"
)

// a sparse index costs little at a look-up and saves most of the index.

const (
	indexDense     = 1 // bytes of log between two items: one for each message
	indexSparse    = 4 << 10
	indexBatch     = 20
	indexSlower    = 2
	indexSmaller   = 0.5
	indexWarm      = "warm"
	indexCold      = "cold"
	indexAppending = "appending"
)

const (
	figureLookUp     = "p50"
	figureIndexBytes = "index bytes by message"
	figureAppendTime = "time to append a message"
)

// indexArm is how dense an index is over records of a size.
type indexArm struct{ every, record int }

func (a indexArm) words() string {
	if a.every == indexDense {
		return "each message"
	}
	return fmt.Sprintf("%d KiB", a.every>>10)
}

func (a indexArm) cell(how string) string { return fmt.Sprintf("%s/%d B/%s", how, a.record, a.words()) }

func indexRecords() []int { return []int{100, 1 << 10} }

func (r *run) indexArms() (arms []indexArm) {
	for _, record := range indexRecords() {
		for _, every := range either(r, []int{indexDense, 1 << 10, indexSparse, 16 << 10, 64 << 10}, []int{indexDense, indexSparse}) {
			arms = append(arms, indexArm{every, record})
		}
	}
	return arms
}

func (r *run) indexMessages(a indexArm) int {
	return min(either(r, 200_000, 2000), either(r, 100<<20, 2<<20)/a.record)
}

func measureIndexes(ctx context.Context, r *run) error {
	r.synced = "index files and full segments only"
	return r.inScratch(ctx, func(ctx context.Context, dir string) error {
		for _, a := range r.indexArms() {
			i := &indexed{run: r, arm: a, dir: filepath.Join(dir, fmt.Sprintf("%d-%d", a.record, a.every))}
			if err := i.inStore(ctx, i.fill); err != nil {
				return fmt.Errorf("%s: %w", a.cell("fill"), err)
			}
		}
		for round := range either(r, 5, 1) {
			for _, a := range r.indexArms() {
				i := &indexed{run: r, arm: a, round: round, dir: filepath.Join(dir, fmt.Sprintf("%d-%d", a.record, a.every))}
				if err := i.measure(ctx); err != nil {
					return fmt.Errorf("%s: %w", a.cell("round"), err)
				}
			}
			r.say("round %d", round+1)
		}
		r.lines(r.Seed, reports.Plot{
			Name: "look-ups", Title: "A look-up by cursor, warm, p50 (wall clock)",
			X: reports.Axis{Label: "log between two index items", Unit: "B", Log: true}, Y: reports.Axis{Label: "p50", Unit: "µs"},
		}, indexGroup(indexWarm), quantity{name: figureLookUp}, "record", func(labels map[string]string) float64 {
			for _, a := range r.indexArms() {
				if a.words() == labels["an item each"] {
					return float64(a.every)
				}
			}
			return indexDense
		})
		return nil
	})
}

func indexGroup(how string) string {
	switch how {
	case indexWarm:
		return "Look-ups by cursor, page cache warm"
	case indexCold:
		return "Look-ups by cursor, page cache dropped before each round"
	}
	return "What an index costs"
}

// indexed is one arm's store.
type indexed struct {
	*run
	arm   indexArm
	round int
	dir   string
}

func (i *indexed) config() seglog.Config {
	c := seglog.DefaultConfig()
	c.Volumes = []string{datedVolume}
	p := &c.Partition
	p.Sync, p.IndexBytes, p.IndexItemsMax, p.ReadChunkBytes = partition.SyncNever, int64(i.arm.every), 1<<22, 4<<10
	c.FreeBytesMin, c.TimeUnit = 0, time.Millisecond
	return c
}

func (i *indexed) inStore(ctx context.Context, f func(h host.Host, s *seglog.Store) error) error {
	return onThisMachine(ctx, i.run, i.dir, datedVolume, func(h host.Host) error {
		return withSegments(h, i.config(), func(s *seglog.Store) error { return f(h, s) })
	})
}

// payload is a message whose record has the arm's size.
func (i *indexed) payload(h host.Host) []byte {
	overhead := len(lineAt(h, "")) + message.HeaderBytes + 2
	return lineAt(h, strings.Repeat("x", max(i.arm.record-overhead, 1)))
}

func (i *indexed) append(h host.Host, s *seglog.Store, topic string, messages int) error {
	if err := s.CreateTopic(topic, seglog.TopicConfig{Partitions: 1}); err != nil && !errors.Is(err, seglog.ErrTopicExists) {
		return err
	}
	batch := make([][]byte, indexBatch)
	for n := range batch {
		batch[n] = i.payload(h)
	}
	for n := 0; n < messages; n += indexBatch {
		if _, err := s.Append(topic, 0, batch...); err != nil {
			return err
		}
	}
	return nil
}

func (i *indexed) fill(h host.Host, s *seglog.Store) error {
	return i.append(h, s, datedTopic, i.indexMessages(i.arm))
}

// measure is one round of an arm: look-ups from what is cached, look-ups from the disk, appends.
func (i *indexed) measure(ctx context.Context) error {
	random := rand.New(rand.NewPCG(i.Seed, uint64(i.round)))
	err := i.inStore(ctx, func(h host.Host, s *seglog.Store) error {
		if err := i.lookUp(s, random, either(i.run, 500, 50), ""); err != nil { // brings the files in
			return err
		}
		if err := i.lookUp(s, random, either(i.run, 5000, 100), indexWarm); err != nil {
			return err
		}
		if err := dropCached(i.dir); err != nil {
			return err
		}
		if err := i.lookUp(s, random, either(i.run, 200, 10), indexCold); err != nil {
			return err
		}
		messages := either(i.run, 20_000, 200)
		began := time.Now()
		if err := i.append(h, s, "more", messages); err != nil {
			return err
		}
		c := i.group(indexGroup(indexAppending), "").cell(i.arm.cell(indexAppending), i.labels()...)
		c.sample(quantity{figureAppendTime, "µs", reports.ClockWall, reports.LowerBetter}, micros(time.Since(began))/float64(messages))
		return nil
	})
	if err != nil {
		return err
	}
	bytes, err := i.indexBytes()
	i.group(indexGroup(indexAppending), "").cell(i.arm.cell(indexAppending)).
		sample(quantity{figureIndexBytes, "B", reports.ClockNone, reports.LowerBetter}, float64(bytes)/float64(i.indexMessages(i.arm)))
	return err
}

func (i *indexed) labels() []string {
	return []string{"record", fmt.Sprintf("%d B", i.arm.record), "an item each", i.arm.words()}
}

// lookUp reads single messages at random. Without a name for how, nothing is sampled.
func (i *indexed) lookUp(s *seglog.Store, random *rand.Rand, times int, how string) error {
	_, next, err := s.Bounds(datedTopic, 0)
	if err != nil {
		return err
	}
	took := make([]float64, times)
	for n := range took {
		at := seglog.Cursor(random.Int64N(int64(next)))
		began := time.Now()
		batch, err := s.Read(datedTopic, 0, at, seglog.Limits{Messages: 1})
		took[n] = micros(time.Since(began))
		if err != nil {
			return err
		}
		found := len(batch.Entries) == 1 && batch.Entries[0].Cursor == at
		batch.Release()
		if !found {
			return fmt.Errorf("message %d is not what was read", at)
		}
	}
	if how != "" {
		c := i.group(indexGroup(how), "Quantiles of a round's look-ups.").cell(i.arm.cell(how), i.labels()...)
		c.sample(quantity{figureLookUp, "µs", reports.ClockWall, reports.LowerBetter}, reports.Quantile(took, 0.5))
		c.sample(quantity{"p99", "µs", reports.ClockWall, reports.LowerBetter}, reports.Quantile(took, 0.99))
	}
	return nil
}

// indexBytes is how large the index files of what is looked up are.
func (i *indexed) indexBytes() (bytes int64, err error) {
	entries, err := os.ReadDir(filepath.Join(i.dir, datedVolume, "mstore", "partition", datedTopic, "0"))
	for _, e := range entries {
		if info, failed := e.Info(); failed != nil {
			err = failed
		} else if strings.HasSuffix(e.Name(), "index") {
			bytes += info.Size()
		}
	}
	return bytes, err
}

// judgeIndexes: a look-up with an item each 4 KiB takes less than twice as long as with one for each message, and the files
// are at most half as large.
func judgeIndexes(r *reports.Result) reports.Verdict {
	var j judgement
	for _, record := range indexRecords() {
		dense, sparse := indexArm{indexDense, record}, indexArm{indexSparse, record}
		a, ok := j.figureOf(r, sparse.cell(indexWarm), figureLookUp)
		b, found := j.figureOf(r, dense.cell(indexWarm), figureLookUp)
		if ok && found {
			what := fmt.Sprintf("warm look-up among records of %d B, sparse by dense,", record)
			if i, ok := j.ratio(what, &a, &b); ok {
				j.below(what, i, indexSlower)
			}
		}
		small, ok := j.figureOf(r, sparse.cell(indexAppending), figureIndexBytes)
		large, found := j.figureOf(r, dense.cell(indexAppending), figureIndexBytes)
		switch {
		case !ok || !found:
		case small.Value > indexSmaller*large.Value:
			j.leaveOpen("the sparse index takes %s B a message, the dense one %s", short(small.Value), short(large.Value))
		default:
			j.support("records of %d B: the sparse index takes %s B a message, the dense one %s", record, short(small.Value), short(large.Value))
		}
	}
	return j.verdict()
}

// below supports or refutes that a ratio is below a bound; an interval that holds the bound leaves it open.
func (j *judgement) below(what string, i reports.Interval, bound float64) {
	said := fmt.Sprintf("%s is %s (%s to %s), the bound is %s", strings.TrimSuffix(what, ","), short(i.Value), short(i.Low), short(i.High), short(bound))
	switch {
	case i.High < bound:
		j.support("%s", said)
	case i.Low >= bound:
		j.refute("%s", said)
	default:
		j.leaveOpen("%s", said)
	}
}

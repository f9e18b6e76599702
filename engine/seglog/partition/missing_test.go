package partition_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog/partition"
	"lakebed/sim"
)

// outcome is what reads of a partition's cursors give, one after the other.
type outcome struct {
	whole, bad int
	lastWhole  partition.Cursor // the largest one that is read
}

// readEach reads each cursor up to where the partition ended before, by itself. Each is given as it was sent, or its loss is told.
func (l *log) readEach(p *partition.Partition) (o outcome, err error) {
	for c, s := range l.acked {
		b, err := p.Read(c, partition.Limits{Messages: 1})
		switch {
		case errors.Is(err, partition.ErrCorrupt):
			o.bad++
			continue
		case err != nil:
			return o, fmt.Errorf("cursor %d: %w", c, err)
		case len(b.Entries) != 1 || string(b.Entries[0].Payload) != string(s.payload):
			return o, fmt.Errorf("cursor %d holds something else, or nothing", c)
		}
		o.whole++
		o.lastWhole = max(o.lastWhole, c)
		b.Release()
	}
	return o, nil
}

// spoilt is how the files of a partition are changed between two lives: the segments are those that the first one left.
type spoilt struct {
	name   string
	closed bool // the first life is closed, else it is killed
	config partition.Config
	spoil  func(dir host.Dir, segments []partition.SegmentStats) error
	bad    [2]int // messages that are missing then, at least and at most
}

func logName(s partition.SegmentStats) string { return fmt.Sprintf("%d.log", s.Base) }

// truncate cuts a file to a part of its length.
func truncate(dir host.Dir, name string, part int64) error {
	f, err := dir.Open(name)
	if err != nil {
		return err
	}
	size, err := f.Size()
	return errors.Join(err, f.Truncate(size/part), f.Sync(), f.Close())
}

func zero(dir host.Dir, name string) error {
	f, err := dir.Open(name)
	if err != nil {
		return err
	}
	size, err := f.Size()
	return errors.Join(err, host.WriteFullAt(f, make([]byte, size-size/2), size/2), f.Sync(), f.Close())
}

func removeAll(dir host.Dir, names ...string) (err error) {
	for _, name := range names {
		err = errors.Join(err, dir.Remove(name))
	}
	return errors.Join(err, dir.SyncDir())
}

// rotHeader spoils the first block of a file.
func rotHeader(dir host.Dir, name string) error {
	f, err := dir.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(host.WriteFullAt(f, []byte("rotten"), 20), f.Sync(), f.Close())
}

func last(segments []partition.SegmentStats) partition.SegmentStats { return segments[len(segments)-1] }

func spoiltFiles() []spoilt {
	small, long := smallConfig(), unsealedConfig()
	type segments = []partition.SegmentStats
	cases := []spoilt{
		{"the newest log, sealed, is cut", true, small, func(d host.Dir, s segments) error { return truncate(d, logName(last(s)), 2) }, [2]int{1, 10}},
		{"the newest log, sealed, is empty", true, small, func(d host.Dir, s segments) error { return truncate(d, logName(last(s)), 1<<40) }, [2]int{1, 20}},
		{"the newest log, sealed, is gone", true, small, func(d host.Dir, s segments) error { return removeAll(d, logName(last(s))) }, [2]int{1, 20}},
		{"the newest log and one index are spoilt", true, small, func(d host.Dir, s segments) error {
			return errors.Join(truncate(d, logName(last(s)), 2), rotHeader(d, fmt.Sprintf("%d.index", last(s).Base)))
		}, [2]int{1, 10}},
		{"the newest log is cut, and one index is gone", true, small, func(d host.Dir, s segments) error {
			return errors.Join(truncate(d, logName(last(s)), 2), removeAll(d, fmt.Sprintf("%d.timeindex", last(s).Base)))
		}, [2]int{1, 10}},
		{"the newest log and one index are gone", true, small, func(d host.Dir, s segments) error {
			return removeAll(d, logName(last(s)), fmt.Sprintf("%d.index", last(s).Base))
		}, [2]int{1, 20}},
		{"a log in the middle is cut", true, small, func(d host.Dir, s segments) error { return truncate(d, logName(s[2]), 2) }, [2]int{1, 10}},
		{"a log in the middle is cut, and its indexes are gone", true, small, func(d host.Dir, s segments) error {
			return errors.Join(truncate(d, logName(s[2]), 2), removeAll(d, fmt.Sprintf("%d.index", s[2].Base), fmt.Sprintf("%d.timeindex", s[2].Base)))
		}, [2]int{1, 10}},
		{"a log in the middle is gone", true, small, func(d host.Dir, s segments) error { return removeAll(d, logName(s[2])) }, [2]int{1, 20}},
		{"a log with checkpoints is cut", false, long, func(d host.Dir, s segments) error { return truncate(d, "0.log", 2) }, [2]int{15, 35}},
		{"a log with checkpoints has zeros at its end", false, long, func(d host.Dir, s segments) error { return zero(d, "0.log") }, [2]int{15, 35}},
		{"a log with checkpoints is gone", false, long, func(d host.Dir, s segments) error { return removeAll(d, "0.log") }, [2]int{50, 60}},
	}
	return cases
}

// TestWhatIsMissingIsToldAndNotTakenForTheEnd: a log that is shorter than its index files, a checkpoint or the next segment say,
// or is gone, loses messages. Each of them is answered with ErrCorrupt, in each life from then on; all others are given; and
// new messages get cursors behind those that were given before.
func TestWhatIsMissingIsToldAndNotTakenForTheEnd(t *testing.T) {
	const appends = 60
	for _, c := range spoiltFiles() {
		t.Run(c.name, func(t *testing.T) {
			l := newLog()
			var before []partition.SegmentStats
			var counts []int
			look := func(life *life) error {
				o, err := l.readEach(life.p)
				counts = append(counts, o.bad)
				if o.bad < c.bad[0] || o.bad > c.bad[1] {
					return errors.Join(err, fmt.Errorf("%d messages are said to be missing, %d are given, want %v", o.bad, o.whole, c.bad))
				}
				return err
			}
			more := func(_ host.Host, life *life) error {
				_, end, err := life.p.Bounds()
				if most := partition.Cursor(len(l.acked)); err != nil || end > most || end < most-3 {
					return fmt.Errorf("it ends at cursor %d, and %d were given: %w", end, most, err)
				}
				for range 5 { // append compares the cursors with those that were acknowledged
					if err := l.append(life.p, 1); err != nil {
						return err
					}
				}
				return look(life)
			}
			bodies := []func(h host.Host, life *life) error{
				func(h host.Host, life *life) error {
					var err error
					for range appends {
						err = errors.Join(err, l.append(life.p, 1))
					}
					h.Root().Sleep(time.Second) // the settling task comes to its end
					before = life.p.Segments()
					return err
				},
				func(_ host.Host, life *life) error { return c.spoil(life.dir, before) },
				more, more,
			}
			n := c.run(t, bodies)
			if n.Visits(partition.PointMessagesMissing)+n.Visits(partition.PointGap) == 0 {
				t.Error("nothing was told")
			}
			for _, n := range counts {
				if n != counts[0] {
					t.Errorf("messages that are missing, life by life: %v", counts)
				}
			}
		})
	}
}

// run runs lives one after the other. The second one has a directory only, and the first one is killed if the case says so.
func (c *spoilt) run(t *testing.T, bodies []func(h host.Host, life *life) error) *sim.Node {
	t.Helper()
	w, n := world(1, c.config)
	number := 0
	start := func() {
		n.Start(func(h host.Host) error {
			if number == 1 {
				d, err := h.Disk(volume)
				if err != nil {
					return err
				}
				dir, err := d.Sub("0")
				return errors.Join(err, bodies[1](h, &life{dir: dir}))
			}
			life, err := begin(h, c.config)
			if err != nil {
				return err
			}
			err = bodies[number](h, life)
			if number == 0 && !c.closed && err == nil {
				w.At(time.Millisecond, func() { n.Crash(sim.KillProcess()) })
				h.Root().Sleep(time.Hour)
			}
			return errors.Join(err, life.end())
		})
	}
	n.OnExit(func(err error, _ bool) {
		if err != nil {
			t.Errorf("life %d: %v", number, err)
		}
		if number++; number < len(bodies) {
			w.At(time.Millisecond, start)
		}
	})
	start()
	if v := w.Run(2 * time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
	return n
}

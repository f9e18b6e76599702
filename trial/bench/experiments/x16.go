package experiments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog"
	"lakebed/engine/seglog/message"
	"lakebed/engine/seglog/partition"
	"lakebed/reports"
	"lakebed/sim"
)

// a segment that is chosen by its file's modification time is the wrong one.

// circumstance is what becomes of times.
type circumstance string

const (
	undisturbed circumstance = "undisturbed"
	clockBack   circumstance = "clock steps back"
	copiedFiles circumstance = "files were copied"
	lateWrites  circumstance = "disk writes late"
	skewedTimes circumstance = "producers' clocks differ"
)

func circumstances() []circumstance {
	return []circumstance{undisturbed, clockBack, copiedFiles, lateWrites, skewedTimes}
}

const (
	datedTopic    = "access.log"
	datedVolume   = "disk0"
	datedMessages = 600
	datedSeeks    = 50
	datedPause    = 10 * time.Millisecond
	datedSkew     = 400 // ms, either way
	datedLate     = 300 * time.Millisecond
	datedLateOne  = 40 // of so many writes one is late
)

const (
	figureSeeks = "look-ups"
	figureWrong = "wrong answers"
	figureApart = "messages between the answer and the right one, at most"
)

func datedCell(c circumstance, rule partition.TimeRule) string {
	return fmt.Sprintf("%s/%s", c, rule)
}

func measureTimeRules(ctx context.Context, r *run) error {
	for seed := range either(r, uint64(40), 2) {
		for _, c := range circumstances() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			d := dated{run: r, circumstance: c}
			err := inLives(r.Seed+seed, d.prepare, d.write, d.disturb, d.seek(partition.ByRecordedTime), d.seek(partition.ByModification))
			if err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
		}
	}
	r.plotWrong()
	return nil
}

// dated is one world: a partition whose messages' times are known.
type dated struct {
	*run
	circumstance circumstance
	times        []seglog.Time // by cursor
}

// smallSegments is a store of one directory, whose segments hold some dozens of messages.
func smallSegments() seglog.Config {
	c := seglog.DefaultConfig()
	c.Volumes = []string{datedVolume}
	p := &c.Partition
	p.GroupBytesMax, p.BatchBytesMax, p.MessageBytesMax = 2<<10, 2<<10, 1<<10
	p.SegmentBytes, p.IndexBytes, p.IndexItemsMax = 8<<10, 512, 1<<10
	p.ReadChunkBytes = 4 << 10
	c.TimeUnit, c.FilesMax = time.Millisecond, 16
	c.FreeBytesMin = 0
	return c
}

func (d *dated) prepare(l *lone) {
	volume := l.node.Disk(datedVolume)
	if d.circumstance != lateWrites {
		return
	}
	delays := sim.Stream(l.random.Uint64(), "experiment/late")
	volume.SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
		if op.Kind == sim.DiskWrite && delays.IntN(datedLateOne) == 0 {
			return sim.DiskEffect{Delay: datedLate}
		}
		return sim.DiskEffect{}
	})
}

// withSegments runs f with a store that is opened and closed in good order.
func withSegments(h host.Host, config seglog.Config, f func(*seglog.Store) error) error {
	s, err := seglog.Open(h, h.Root(), config)
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.Close())
}

// write sends the messages, each at its time: a message that the disk keeps waiting does not hold up the others.
func (d *dated) write(l *lone, h host.Host) error {
	return withSegments(h, smallSegments(), func(s *seglog.Store) error {
		if err := s.CreateTopic(datedTopic, seglog.TopicConfig{Partitions: 1}); err != nil {
			return err
		}
		senders := h.Root().New("senders")
		d.times = make([]seglog.Time, datedMessages)
		var failed error
		for i := range datedMessages {
			if d.circumstance == clockBack && i == datedMessages/2 {
				back := -datedMessages / 2 * datedPause
				if err := l.between(h, func() { l.node.JumpClock(back) }); err != nil {
					return err
				}
			}
			at := seglog.Time(int64(h.Now()) / int64(time.Millisecond))
			if d.circumstance == skewedTimes {
				at += seglog.Time(l.random.IntN(2*datedSkew)) - datedSkew
			}
			senders.Go("sender", func() {
				payload := message.Append(nil, []message.Group{{Time: at, Source: []byte("source"), Payload: make([]byte, 80)}})
				placed, err := s.Append(datedTopic, 0, payload)
				if err != nil {
					failed = err
					return
				}
				d.times[placed.First] = at
			})
			if !h.Root().Sleep(datedPause) {
				return host.ErrStopping
			}
		}
		senders.Wait()
		return failed
	})
}

// disturb copies the files where that is the circumstance, as a restore does: one after the other as the directory lists
// them, each written now.
func (d *dated) disturb(l *lone, h host.Host) error {
	if d.circumstance != copiedFiles {
		return nil
	}
	dir, err := h.Disk(datedVolume)
	for _, name := range []string{"mstore", "partition", datedTopic, strconv.Itoa(0)} {
		if err == nil {
			dir, err = dir.Sub(name)
		}
	}
	if err != nil {
		return err
	}
	entries, err := dir.List()
	for _, e := range entries {
		if err == nil && !e.Dir {
			err = copyFile(dir, e)
			h.Root().Sleep(datedPause)
		}
	}
	return err
}

func copyFile(dir host.Dir, info host.Info) error {
	f, err := dir.Open(info.Name)
	if err != nil {
		return err
	}
	content := make([]byte, info.Size)
	_, err = host.ReadFull(f, content, 0)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return host.ReplaceFile(dir, info.Name, content)
}

// seek looks times up that lie at messages and a little beside them, by a rule, and compares with the list.
func (d *dated) seek(rule partition.TimeRule) life {
	return func(l *lone, h host.Host) error {
		config := smallSegments()
		config.Partition.TimeRule = rule
		asked := sim.Stream(l.random.Uint64(), "experiment/seeks")
		return withSegments(h, config, func(s *seglog.Store) error {
			wrong, apart := 0, 0
			for range datedSeeks {
				t := d.times[asked.IntN(len(d.times))] + seglog.Time(asked.IntN(7)) - 3
				got, err := s.Seek(datedTopic, 0, t)
				if err != nil {
					return err
				}
				right := slices.IndexFunc(d.times, func(at seglog.Time) bool { return at >= t })
				if right < 0 {
					right = len(d.times)
				}
				if off := max(right-int(got), int(got)-right); off > 0 {
					wrong++
					apart = max(apart, off)
				}
			}
			d.sample(rule, wrong, apart)
			return nil
		})
	}
}

const datedGroup = "Look-ups by time"

func (d *dated) sample(rule partition.TimeRule, wrong, apart int) {
	c := d.group(datedGroup, "Samples are worlds, of 50 look-ups each. The same files are asked by both rules.").
		cell(datedCell(d.circumstance, rule), "circumstance", string(d.circumstance), "rule", string(rule))
	c.sample(count(figureSeeks, reports.NeitherBetter), datedSeeks)
	c.sample(count(figureWrong, reports.LowerBetter), float64(wrong))
	c.sample(count(figureApart, reports.LowerBetter), float64(apart))
}

// plotWrong draws how many look-ups of a world are wrong, circumstance by circumstance.
func (r *run) plotWrong() {
	plot := reports.Plot{
		Name: "wrong", Title: "Wrong answers to 50 look-ups by time (median world)", Bars: true,
		X: reports.Axis{Label: "circumstance"}, Y: reports.Axis{Label: "wrong answers of 50", Unit: "1"},
	}
	for _, c := range circumstances() {
		plot.X.Names = append(plot.X.Names, string(c))
	}
	r.lines(r.Seed, plot, datedGroup, quantity{name: figureWrong}, "rule", func(labels map[string]string) float64 {
		return float64(slices.Index(circumstances(), circumstance(labels["circumstance"])))
	})
}

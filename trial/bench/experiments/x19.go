package experiments

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog"
	"lakebed/engine/seglog/message"
	"lakebed/reports"
	"lakebed/sim"
)

// a failed disk's partitions are taken out of service, and the others take the load.

// ailment is how a data directory fails.
type ailment string

const (
	noAilment  ailment = "none"
	ailsErrors ailment = "every operation fails"
	ailsSlow   ailment = "every operation takes 3 s"
	ailsFull   ailment = "writes find no space"
	ailsWrites ailment = "writes fail, reads do not"
)

func ailments() []ailment { return []ailment{noAilment, ailsErrors, ailsSlow, ailsFull, ailsWrites} }

const (
	ailingVolumes    = 4
	ailingPartitions = 8
	ailingProducers  = 8
	ailingPause      = 10 * time.Millisecond // of a producer, between two appends
	ailingAfter      = 2 * time.Second
	ailingHealed     = 6 * time.Second
	ailingEnd        = 18 * time.Second
	ailingSlowness   = 3 * time.Second
	ailingPatience   = time.Second // of a commit
)

const (
	figureEjected   = "until it is ejected"
	figureBack      = "until it is taken back"
	figureNever     = "directories never ejected, or never taken back"
	figureRefused   = "appends that failed"
	figureMisplaced = "acknowledged by an ejected directory"
	figureLostHere  = "acknowledged messages lost, healthy directories"
	figureLostThere = "acknowledged messages lost, the failed directory"
	figureBalance   = "busiest healthy partition by the mean"
	figureAcked     = "messages acknowledged"
)

func ailingCell(a ailment) string { return "disk/" + string(a) }

// at is what becomes of an operation on the disk that fails.
func (a ailment) at(op *sim.DiskOp) sim.DiskEffect {
	writes := op.Kind != sim.DiskRead && op.Kind != sim.DiskList && op.Kind != sim.DiskOpen
	switch {
	case a == ailsSlow:
		return sim.DiskEffect{Delay: ailingSlowness}
	case a == ailsErrors, a == ailsWrites && writes:
		return sim.DiskEffect{Err: host.ErrIO}
	case a == ailsFull && (op.Kind == sim.DiskWrite || op.Kind == sim.DiskCreate || op.Kind == sim.DiskAllocate):
		return sim.DiskEffect{Err: host.ErrNoSpace}
	}
	return sim.DiskEffect{}
}

func measureEjection(ctx context.Context, r *run) error {
	for seed := range either(r, uint64(12), 1) {
		for _, a := range ailments() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			one := ailing{run: r, ailment: a, acked: map[int][]ackedAppend{}}
			if err := inLives(r.Seed+seed, one.prepare, one.work, one.verify); err != nil {
				return fmt.Errorf("%s: %w", a, err)
			}
		}
		r.say("world %d of each kind", seed+1)
	}
	return nil
}

// ackedAppend is a message that was acknowledged.
type ackedAppend struct {
	cursor         seglog.Cursor
	text           string
	begun, settled time.Duration
}

// ailing is one world: a store one of whose disks fails for a while.
type ailing struct {
	*run
	ailment        ailment
	began          time.Duration // of the fault, as the three that follow on the world's clock
	ejected, ended time.Duration
	back           time.Duration
	acked          map[int][]ackedAppend // by partition
	refused        int
}

func ailingVolume(i int) string { return fmt.Sprintf("disk%d", i) }

func (a *ailing) config() seglog.Config {
	c := smallSegments()
	c.Volumes = nil
	for i := range ailingVolumes {
		c.Volumes = append(c.Volumes, ailingVolume(i))
	}
	c.Partition.SegmentBytes = 64 << 10
	c.FilesMax = 64
	c.CommitPatience, c.WatchInterval = ailingPatience, 200*time.Millisecond
	c.ReadmitPause, c.ReadmitMax = 500*time.Millisecond, 4*time.Second
	return c
}

func (a *ailing) prepare(l *lone) {
	l.world.OnMark(func(_ *sim.Node, e host.Event) {
		if e.Extra != ailingVolume(0) {
			return
		}
		switch {
		case e.Name == seglog.PointEjected && a.began > 0 && a.ejected == 0:
			a.ejected = l.world.Elapsed()
		case e.Name == seglog.PointReadmitted && a.ended > 0 && a.back == 0:
			a.back = l.world.Elapsed()
		}
	})
}

// work has the producers append while the disk fails and is healed.
func (a *ailing) work(l *lone, h host.Host) error {
	return withSegments(h, a.config(), func(s *seglog.Store) error {
		if err := s.CreateTopic(datedTopic, seglog.TopicConfig{Partitions: ailingPartitions}); err != nil {
			return err
		}
		l.world.At(ailingAfter+time.Duration(l.random.IntN(500))*time.Millisecond, func() {
			a.began = l.world.Elapsed()
			l.node.Disk(ailingVolume(0)).SetFaults(a.ailment.at)
		})
		l.world.At(ailingHealed, func() {
			a.ended = l.world.Elapsed()
			l.node.Disk(ailingVolume(0)).SetFaults(nil)
		})
		producers := h.Root().New("producers")
		until := h.Elapsed() + ailingEnd
		for number := range ailingProducers {
			producers.Go("producer", func() {
				for turn := 0; h.Elapsed() < until; turn++ {
					a.append(l, h, s, fmt.Sprintf("producer %d, message %d", number, turn))
					if !producers.Sleep(ailingPause) {
						return
					}
				}
			})
		}
		producers.Wait()
		return nil
	})
}

func (a *ailing) append(l *lone, h host.Host, s *seglog.Store, text string) {
	begun := l.world.Elapsed()
	placed, err := s.Append(datedTopic, seglog.Balanced, lineAt(h, text))
	if err != nil {
		a.refused++
		return
	}
	a.acked[placed.Partition] = append(a.acked[placed.Partition], ackedAppend{placed.First, text, begun, l.world.Elapsed()})
}

// lineAt is a message of one line that is made now.
func lineAt(h host.Host, text string) []byte {
	at := seglog.Time(int64(h.Now()) / int64(time.Millisecond))
	return message.Append(nil, []message.Group{{Time: at, Source: []byte("source"), Payload: []byte(text)}})
}

// textsOf reads a partition from its first message to its end.
func textsOf(s *seglog.Store, topic string, number int) (first seglog.Cursor, texts []string, err error) {
	first, next, err := s.Bounds(topic, number)
	for at := first; err == nil && at < next; {
		var batch seglog.Batch
		if batch, err = s.Read(topic, number, at, seglog.Limits{Messages: 100, Bytes: 64 << 10}); err != nil {
			break
		}
		for _, e := range batch.Entries {
			groups, malformed := message.Parse(e.Payload)
			if malformed != nil {
				return first, nil, malformed
			}
			texts = append(texts, string(groups[0].Payload))
		}
		at = batch.Next
		batch.Release()
	}
	return first, texts, err
}

// verify looks in the next process what of the acknowledged messages is there.
func (a *ailing) verify(l *lone, h host.Host) error {
	return withSegments(h, a.config(), func(s *seglog.Store) error {
		topics, err := s.Topics()
		if err != nil {
			return err
		}
		lost := map[bool]int{}
		for number, p := range topics[0].Partitions {
			first, texts, err := textsOf(s, datedTopic, number)
			if err != nil {
				return err
			}
			for _, m := range a.acked[number] {
				if at := int(m.cursor - first); at < 0 || at >= len(texts) || texts[at] != m.text {
					lost[p.Volume == ailingVolume(0)]++
				}
			}
		}
		a.sample(topics[0].Partitions, lost)
		return nil
	})
}

// sample adds a world to its arm.
func (a *ailing) sample(partitions []seglog.PartitionStats, lost map[bool]int) {
	c := a.group("One of four directories fails", "Samples are worlds.").cell(ailingCell(a.ailment), "the disk", string(a.ailment))
	misplaced, total, busiest, healthy, outage := 0, 0, 0, 0, 0
	for number, p := range partitions {
		during := 0
		for _, m := range a.acked[number] {
			total++
			if a.ejected > 0 && m.begun > a.ejected && m.settled < a.ended {
				during++
			}
		}
		if p.Volume == ailingVolume(0) {
			misplaced += during
			continue
		}
		healthy, outage, busiest = healthy+1, outage+during, max(busiest, during)
	}
	never := 0.0
	if a.ailment != noAilment && (a.ejected == 0 || a.back == 0) {
		never = 1
	}
	c.sample(count(figureAcked, reports.NeitherBetter), float64(total))
	c.sample(count(figureNever, reports.LowerBetter), never)
	c.sample(count(figureRefused, reports.LowerBetter), float64(a.refused))
	c.sample(count(figureMisplaced, reports.LowerBetter), float64(misplaced))
	c.sample(count(figureLostHere, reports.LowerBetter), float64(lost[false]))
	c.sample(count(figureLostThere, reports.LowerBetter), float64(lost[true]))
	if a.ejected > 0 && outage > 0 {
		c.sample(quantity{figureEjected, "ms", reports.ClockVirtual, reports.LowerBetter}, millis(a.ejected-a.began))
		c.sample(count(figureBalance, reports.LowerBetter), float64(busiest*healthy)/float64(outage))
	}
	if a.back > 0 {
		c.sample(quantity{figureBack, "ms", reports.ClockVirtual, reports.LowerBetter}, millis(a.back-a.ended))
	}
}

// Bounds of the verdict on failed directories, and how many worlds of a kind it takes.
const (
	ejectedMax    = 3 * time.Second
	takenBackMax  = 10 * time.Second
	balanceMax    = 1.2
	ailingWorlds  = 10
	ailingNothing = 0
)

// judgeEjection: nothing acknowledged is lost, each failure is seen and forgiven in time, and the load is spread.
func judgeEjection(r *reports.Result) reports.Verdict {
	var j judgement
	for _, a := range ailments() {
		for _, name := range []string{figureLostHere, figureLostThere, figureMisplaced, figureNever} {
			if f, ok := j.figureOf(r, ailingCell(a), name); ok && total(&f) > ailingNothing {
				j.refute("%s, %s: %s", a, name, short(total(&f)))
			}
		}
		if a == noAilment {
			continue
		}
		for _, bound := range []struct {
			name string
			most float64
		}{{figureEjected, millis(ejectedMax)}, {figureBack, millis(takenBackMax)}, {figureBalance, balanceMax}} {
			f, ok := j.figureOf(r, ailingCell(a), bound.name)
			if !ok {
				continue
			}
			worst := slices.Max(f.Samples)
			if worst > bound.most {
				j.refute("%s: %s is %s at worst, the bound is %s", a, bound.name, short(worst), short(bound.most))
				continue
			}
			if len(f.Samples) < ailingWorlds {
				j.leaveOpen("%s: %d worlds, and it takes %d", a, len(f.Samples), ailingWorlds)
				break
			}
			j.support("%s: %s is %s at worst", a, bound.name, short(worst))
		}
	}
	return j.verdict()
}

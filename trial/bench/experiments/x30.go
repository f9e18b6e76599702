package experiments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/engine/seglog"
	"lakebed/reports"
)

// retention by time bounds the disk by what comes in, retention by size whatever comes in.

// keeping is how a store decides what goes.
type keeping string

const (
	keepsDays   keeping = "seglog, 3 days"
	keepsSize   keeping = "seglog, size"
	keepsHours  keeping = "commitlog, 72 h"
	keepsAtFour keeping = "commitlog, 72 h at 04 h"
)

func keepings() []keeping { return []keeping{keepsDays, keepsSize, keepsHours, keepsAtFour} }

const (
	arrivesSteadily = "steady"
	arrivesInBursts = "bursts"
)

func arrivals() []string { return []string{arrivesSteadily, arrivesInBursts} }

const (
	keptPeriod     = 72 * time.Hour
	keptLength     = 10 * 24 * time.Hour
	keptPause      = 5 * time.Minute
	keptBurstPause = 30 * time.Second
	keptBurst      = 2 * time.Hour // of each day
	keptLate       = 48 * time.Hour
	keptBody       = 1 << 10
	keptSegment    = 64 << 10
	keptLook       = time.Minute
	keptLookFiles  = 10 * time.Minute
	keptSizeMax    = int64(keptPeriod/keptPause) * (keptBody + 100)
)

const (
	figurePeak      = "bytes at their peak"
	figureBoundThen = "bound at the peak"
	figureByBound   = "peak by bound"
	figureUnread    = "messages removed before they were read"
	figureRead      = "messages read"
)

func keptCell(k keeping, arrives string) string { return fmt.Sprintf("%s/%s", k, arrives) }

func measureRetention(ctx context.Context, r *run) error {
	for seed := range either(r, uint64(3), 1) {
		for _, k := range keepings() {
			for _, arrives := range either(r, arrivals(), arrivals()[1:]) {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				one := &kept{run: r, keeping: k, arrives: arrives}
				if err := inLives(r.Seed+seed, nil, one.course); err != nil {
					return fmt.Errorf("%s: %w", one.keeping, err)
				}
			}
		}
	}
	r.plotBounds()
	return nil
}

// kept is one world: a store from which messages go.
type kept struct {
	*run
	keeping keeping
	arrives string

	times  []time.Duration // of each message, from the start
	stored []int64         // bytes of the log that it took
	peak   int64
	bound  int64   // when the ratio was largest
	ratio  float64 // of bytes to their bound, the largest
	read   int     // messages: the reader is so far
	unread int
}

// keeper is what the course needs of either store.
type keeper interface {
	append(payload []byte) error
	// held is how many bytes the log has, and which message is its first.
	held() (bytes int64, first int, err error)
}

func (k *kept) course(_ *lone, h host.Host) error {
	switch k.keeping {
	case keepsDays, keepsSize:
		config := smallSegments()
		config.Partition.MessageBytesMax, config.Partition.BatchBytesMax, config.Partition.GroupBytesMax = 2<<10, 4<<10, 4<<10
		config.Partition.SegmentBytes, config.LookInterval = keptSegment, keptLook
		config.WatchInterval = time.Hour // nothing hangs here, and weeks are long
		return withSegments(h, config, func(s *seglog.Store) error {
			topic := seglog.TopicConfig{Partitions: 1, Retention: seglog.Retention{Period: keptPeriod}}
			if k.keeping == keepsSize {
				topic.Retention = seglog.Retention{BytesMax: keptSizeMax}
			}
			if err := s.CreateTopic(datedTopic, topic); err != nil {
				return err
			}
			return k.follow(h, &keptSegments{h, s})
		})
	}
	config := queuedConfig(commitlog.FlushGroup)
	config.FileBytes, config.BodyBytesMax, config.SectorBytes = keptSegment, 2<<10, 1
	config.CheckpointInterval, config.CheckpointBytes = keptLook, keptSegment/4
	config.Retention = commitlog.DefaultConfig().Retention
	config.Retention.Interval, config.Retention.Age = keptLookFiles, keptPeriod
	if k.keeping == keepsHours {
		config.Retention.DeleteHours = everyHour()
	}
	s, err := commitlog.Open(h, h.Root(), config)
	if err != nil {
		return err
	}
	err = s.CreateTopic(queuedTopic(0), 1)
	if err == nil {
		err = k.follow(h, &keptFiles{s})
	}
	return errors.Join(err, s.Close())
}

func everyHour() (hours []int) {
	for hour := range 24 {
		hours = append(hours, hour)
	}
	return hours
}

// follow appends for some days, looks how much there is, and has a reader follow late.
func (k *kept) follow(h host.Host, store keeper) error {
	began := h.Elapsed()
	for {
		now := h.Elapsed() - began
		if now >= keptLength {
			break
		}
		before, _, err := store.held()
		if err == nil {
			err = store.append(make([]byte, keptBody))
		}
		if err != nil {
			return err
		}
		bytes, first, err := store.held()
		if err != nil {
			return err
		}
		k.times, k.stored = append(k.times, now), append(k.stored, bytes-before)
		k.look(now, bytes)
		k.readLate(now, first)
		pause := keptPause
		if k.arrives == arrivesInBursts && now%(24*time.Hour) < keptBurst {
			pause = keptBurstPause
		}
		if !h.Root().Sleep(pause) {
			return host.ErrStopping
		}
	}
	c := k.group(keptGroup, "A segment and a file have 64 KiB. What comes in within the period takes about 900 KiB, or in bursts 1.5 MiB.").
		cell(keptCell(k.keeping, k.arrives), "retention", string(k.keeping), "arrivals", k.arrives)
	c.sample(quantity{figurePeak, "B", reports.ClockNone, reports.LowerBetter}, float64(k.peak))
	c.sample(quantity{figureBoundThen, "B", reports.ClockNone, reports.NeitherBetter}, float64(k.bound))
	c.sample(count(figureByBound, reports.LowerBetter), k.ratio)
	c.sample(count(figureUnread, reports.LowerBetter), float64(k.unread))
	c.sample(count(figureRead, reports.NeitherBetter), float64(k.read-k.unread))
	return nil
}

const keptGroup = "What a store holds"

// look compares what there is with the bound of the moment.
func (k *kept) look(now time.Duration, bytes int64) {
	bound := k.boundAt(now)
	k.peak = max(k.peak, bytes)
	if ratio := float64(bytes) / float64(bound); ratio > k.ratio {
		k.ratio, k.bound = ratio, bound
	}
}

// boundAt is the most that a store may hold: what came in lately, or its size, and a segment or file.
func (k *kept) boundAt(now time.Duration) int64 {
	switch k.keeping {
	case keepsSize:
		return keptSizeMax + k.arrived(now-keptLook)
	case keepsDays:
		return k.arrived(now-keptPeriod-keptLook) + keptSegment
	case keepsHours:
		return k.arrived(now-keptPeriod-keptLookFiles) + keptSegment
	}
	return k.arrived(now-keptPeriod-24*time.Hour-keptLookFiles) + keptSegment
}

// arrived is how many bytes of the log came in since then.
func (k *kept) arrived(since time.Duration) (bytes int64) {
	for i := len(k.times) - 1; i >= 0 && k.times[i] >= since; i-- {
		bytes += k.stored[i]
	}
	return bytes
}

// readLate has the reader read what is old enough, or find it removed.
func (k *kept) readLate(now time.Duration, first int) {
	for ; k.read < len(k.times) && k.times[k.read] <= now-keptLate; k.read++ {
		if k.read < first {
			k.unread++
		}
	}
}

// keptSegments is a partition of a segment log.
type keptSegments struct {
	h     host.Host
	store *seglog.Store
}

func (k *keptSegments) append(payload []byte) error {
	_, err := k.store.Append(datedTopic, 0, lineAt(k.h, string(payload)))
	return err
}

func (k *keptSegments) held() (bytes int64, first int, err error) {
	topics, err := k.store.Topics()
	if err != nil {
		return 0, 0, err
	}
	p := topics[0].Partitions[0]
	for _, s := range p.Segments {
		bytes += s.Bytes
	}
	return bytes, int(p.First), p.Ejected
}

// keptFiles is a commit log with one queue. What counts is what was written: a file is there at its full size from the start.
type keptFiles struct{ store *commitlog.Store }

func (k *keptFiles) append(payload []byte) error {
	_, err := k.store.Append(message.Message{Topic: []byte(queuedTopic(0)), Body: payload})
	return err
}

func (k *keptFiles) held() (bytes int64, first int, err error) {
	stats := k.store.Stats()
	low, _, err := k.store.Bounds(queuedTopic(0), 0)
	return stats.Written - stats.First, int(low), err
}

// plotBounds draws the peaks beside their bounds.
func (r *run) plotBounds() {
	plot := reports.Plot{
		Name: "bounds", Title: "Peak of what a store holds, by its bound", Bars: true, Ideal: 1,
		X: reports.Axis{Label: "retention"}, Y: reports.Axis{Label: "peak by bound", Unit: "1"},
	}
	for _, k := range keepings() {
		plot.X.Names = append(plot.X.Names, string(k))
	}
	r.lines(r.Seed, plot, keptGroup, quantity{name: figureByBound}, "arrivals", func(labels map[string]string) float64 {
		for i, k := range keepings() {
			if labels["retention"] == string(k) {
				return float64(i)
			}
		}
		return -1
	})
}

// judgeRetention: no peak is above its bound; time takes nothing from the reader, and size does.
func judgeRetention(r *reports.Result) reports.Verdict {
	var j judgement
	for _, k := range keepings() {
		for _, arrives := range arrivals() {
			by, ok := j.figureOf(r, keptCell(k, arrives), figureByBound)
			unread, found := j.figureOf(r, keptCell(k, arrives), figureUnread)
			if !ok || !found {
				continue
			}
			switch worst := by.High; {
			case worst > 1:
				j.refute("%s, %s: the peak is %s of its bound", k, arrives, short(worst))
			default:
				j.support("%s, %s: the peak is %s of its bound", k, arrives, short(worst))
			}
			switch lost := total(&unread); {
			case k != keepsSize && lost > 0:
				j.refute("%s, %s: %s messages were removed before they were read", k, arrives, short(lost))
			case k == keepsSize && arrives == arrivesInBursts && lost == 0:
				j.leaveOpen("retention by size took nothing from the reader")
			case k == keepsSize && lost > 0:
				j.support("%s, %s: %s messages were removed before they were read", k, arrives, short(lost))
			}
		}
	}
	return j.verdict()
}

package experiments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/consumequeue"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/reports"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// consume queues are built behind the log, catch up, and are exact after a crash.

const (
	queuedTopics  = 2
	queuedQueues  = 2
	queuedBody    = 100
	queuedSenders = 64
	queuedLength  = 2 * time.Second
	queuedRate    = 4000.0 // before a crash
	queuedExtra   = 400    // units behind the end of the log, at most, of each queue
)

const (
	figureLag       = "from acknowledgement to unit, p99"
	figureLagMost   = "messages acknowledged and without a unit, at most"
	figureLagEnd    = "messages without a unit a second later"
	figureDiffer    = "differences between log and queues"
	figureNotThere  = "acknowledged messages not where they were told to be"
	figureBehind    = "queues behind the log"
	figureAhead     = "queues ahead of the log"
	figureStartTook = "time of the start"
	figureRebuildGB = "time to make the queues of a GiB anew"
)

// leftOver is what a start finds of queues.
type leftOver string

const (
	leftAsIs    leftOver = "as the crash left them"
	leftAhead   leftOver = "units added behind the log"
	leftNothing leftOver = "no checkpoint"
)

// queuedArm is a kind of crash.
type queuedArm struct {
	flush commitlog.FlushMode
	left  leftOver
}

func (a queuedArm) cell() string { return fmt.Sprintf("crash/%s/%s", a.flush, a.left) }

func queuedArms() (arms []queuedArm) {
	for _, flush := range []commitlog.FlushMode{commitlog.FlushGroup, commitlog.FlushInterval, commitlog.FlushNever} {
		for _, left := range []leftOver{leftAsIs, leftAhead, leftNothing} {
			arms = append(arms, queuedArm{flush, left})
		}
	}
	return arms
}

func lagCell(rate float64) string { return fmt.Sprintf("lag/%.0f", rate) }

const cellRebuild = "rebuild"

func (r *run) lagRates() []float64 {
	return either(r, []float64{100, 1000, 5000, 20_000}, []float64{1000})
}

func measureQueues(ctx context.Context, r *run) error {
	for seed := range either(r, uint64(5), 1) {
		for _, rate := range r.lagRates() {
			q := &queued{run: r, rate: rate, config: queuedConfig(commitlog.FlushGroup)}
			if err := inLives(r.Seed+seed, q.watch, q.follow); err != nil {
				return err
			}
		}
	}
	for seed := range either(r, uint64(12), 1) {
		for _, a := range queuedArms() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			q := &queued{run: r, rate: queuedRate, arm: a, config: queuedConfig(a.flush)}
			if err := inLives(r.Seed+seed, nil, q.crash, q.tamper, q.compare); err != nil {
				return fmt.Errorf("%s: %w", a.cell(), err)
			}
		}
		r.say("crash %d of each kind", seed+1)
	}
	r.lines(r.Seed, reports.Plot{
		Name: "lag", Title: "From acknowledgement to unit, p99 (virtual time)",
		X: reports.Axis{Label: "messages a second", Unit: "1/s", Log: true}, Y: reports.Axis{Label: "p99", Unit: "ms"},
	}, lagGroup, quantity{name: figureLag}, "flush", func(labels map[string]string) float64 {
		x, _ := strconv.ParseFloat(labels["rate"], 64) // a label of ours
		return x
	})
	return r.rebuildOnDisk(ctx)
}

const lagGroup = "Dispatch behind the log, virtual time"

// queued is one world: a commit log with senders.
type queued struct {
	*run
	rate       float64
	arm        queuedArm
	config     commitlog.Config
	placed     []sentMessage
	dispatched int64 // offset, as the last mark says
	waiting    []sentMessage
	lags       []float64
	most       int
	onDisk     map[string]int64 // units in files by queue, as the crash left them
}

// sentMessage is a message that was acknowledged.
type sentMessage struct {
	topic string
	at    commitlog.Placed
	body  string
	acked time.Duration
}

// queuedConfig has files of some thousand messages, and checkpoints now and then.
func queuedConfig(flush commitlog.FlushMode) commitlog.Config {
	c := commitlog.DefaultConfig()
	c.FileBytes, c.BodyBytesMax, c.PropertiesMax, c.GroupBytesMax = 1<<20, 4<<10, 1<<10, 64<<10
	c.Flush, c.FlushInterval = flush, 100*time.Millisecond
	c.QueueFileUnits, c.DispatchBytes = 500, 64<<10
	c.CheckpointInterval, c.CheckpointBytes = 100*time.Millisecond, 256<<10
	c.KeyIndex = false
	c.Retention.Interval = time.Hour
	return c
}

// watch notes when messages get their units.
func (q *queued) watch(l *lone) {
	l.world.OnMark(func(_ *sim.Node, e host.Event) {
		if e.Name != commitlog.PointDispatched {
			return
		}
		q.dispatched = e.A
		left := q.waiting[:0]
		for _, m := range q.waiting {
			if m.at.Physical < e.A {
				q.lags = append(q.lags, millis(l.world.Elapsed()-m.acked))
			} else {
				left = append(left, m)
			}
		}
		q.waiting = left
	})
}

func (q *queued) open(h host.Host, f func(*commitlog.Store) error) error {
	s, err := commitlog.Open(h, h.Root(), q.config)
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.Close())
}

// send puts the load on the store: senders that take turns to keep the rate.
func (q *queued) send(h host.Host, s *commitlog.Store, length time.Duration) error {
	for t := range queuedTopics {
		if err := s.CreateTopic(queuedTopic(t), queuedQueues); err != nil {
			return err
		}
	}
	senders := h.Root().New("senders")
	began, each := h.Elapsed(), time.Duration(float64(time.Second)/q.rate)
	var failed error
	for sender := range queuedSenders {
		senders.Go("sender", func() {
			for n := sender; time.Duration(n)*each < length && failed == nil; n += queuedSenders {
				if wait := began + time.Duration(n)*each - h.Elapsed(); wait > 0 && !senders.Sleep(wait) {
					return
				}
				if err := q.append(h, s, n); err != nil {
					failed = err
				}
			}
		})
	}
	senders.Wait()
	return failed
}

func queuedTopic(t int) string { return fmt.Sprintf("topic-%d", t) }

func (q *queued) append(h host.Host, s *commitlog.Store, n int) error {
	body := fmt.Appendf(make([]byte, 0, queuedBody), "message %d ", n)
	body = append(body, make([]byte, queuedBody-len(body))...)
	topic := queuedTopic(n % queuedTopics)
	at, err := s.Append(message.Message{Topic: []byte(topic), Queue: int32(n / queuedTopics % queuedQueues), Body: body})
	if err != nil {
		return err
	}
	m := sentMessage{topic: topic, at: at, body: string(body), acked: h.Elapsed()}
	q.placed = append(q.placed, m)
	if at.Physical < q.dispatched {
		q.lags = append(q.lags, 0) // its unit came before the answer
		return nil
	}
	q.waiting = append(q.waiting, m)
	q.most = max(q.most, len(q.waiting))
	return nil
}

// follow measures how far dispatch is behind.
func (q *queued) follow(_ *lone, h host.Host) error {
	return q.open(h, func(s *commitlog.Store) error {
		if err := q.send(h, s, queuedLength); err != nil {
			return err
		}
		h.Root().Sleep(time.Second)
		c := q.group(lagGroup, "Flush mode group; samples are worlds. A unit that is made before its message's acknowledgement arrives counts as zero.").
			cell(lagCell(q.rate), "flush", string(commitlog.FlushGroup), "rate", fmt.Sprintf("%.0f", q.rate))
		c.sample(quantity{figureLag, "ms", reports.ClockVirtual, reports.LowerBetter}, reports.Quantile(q.lags, 0.99))
		c.sample(count(figureLagMost, reports.LowerBetter), float64(q.most))
		c.sample(count(figureLagEnd, reports.LowerBetter), float64(len(q.waiting)))
		return nil
	})
}

// crash sends until the node goes down.
func (q *queued) crash(l *lone, h host.Host) error {
	how := sim.KillProcess()
	if l.random.IntN(2) == 0 {
		how = sim.PowerCut(disk.Mixed)
	}
	l.world.At(time.Duration(100+l.random.IntN(1500))*time.Millisecond, func() { l.node.Crash(how) })
	return q.open(h, func(s *commitlog.Store) error {
		err := q.send(h, s, queuedLength)
		h.Root().Sleep(time.Hour) // until the crash
		return err
	})
}

// tamper counts the units on the disk, and does to the files what the arm says.
func (q *queued) tamper(l *lone, h host.Host) error {
	q.onDisk = map[string]int64{}
	store, err := h.Disk(commitlog.StoreVolume)
	if err != nil {
		return err
	}
	queues, err := store.Sub("consumequeue")
	if err != nil {
		return err
	}
	for t := range queuedTopics {
		for id := range queuedQueues {
			if err := q.tamperQueue(l, queues, queuedTopic(t), id); err != nil {
				return err
			}
		}
	}
	if q.arm.left != leftNothing {
		return nil
	}
	return errors.Join(removeCheckpoints(store), store.SyncDir())
}

// removeCheckpoints has the next start make queues and key index anew.
func removeCheckpoints(store host.Dir) error {
	for _, name := range commitlog.CheckpointFiles() {
		if err := store.Remove(name); err != nil && !errors.Is(err, host.ErrNotExist) {
			return err
		}
	}
	return nil
}

func queuedName(topic string, id int) string { return fmt.Sprintf("%s/%d", topic, id) }

// tamperQueue counts the units of one queue, and adds some that lead behind the log where the arm says so.
func (q *queued) tamperQueue(l *lone, queues host.Dir, topic string, id int) error {
	dir, err := queues.Sub(topic)
	if err == nil {
		dir, err = dir.Sub(strconv.Itoa(id))
	}
	if err != nil {
		return err
	}
	files, err := dir.List()
	if err != nil || len(files) == 0 {
		return err
	}
	last := files[len(files)-1]
	base, err := strconv.ParseInt(last.Name, 10, 64)
	if err != nil {
		return fmt.Errorf("file %s of a queue: %w", last.Name, err)
	}
	size := last.Size
	if q.arm.left == leftAhead {
		f, err := dir.Open(last.Name)
		if err != nil {
			return err
		}
		const behindLog = int64(1) << 40
		var units []byte
		for range min(1+l.random.IntN(queuedExtra), int(q.config.QueueFileUnits-size/consumequeue.UnitBytes)) {
			units = append(units, make([]byte, consumequeue.UnitBytes)...)
			units[len(units)-consumequeue.UnitBytes+2] = byte(behindLog >> 40)
			units[len(units)-consumequeue.UnitBytes/2+1] = queuedBody
		}
		err = host.WriteFullAt(f, units, size)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return err
		}
		size += int64(len(units))
	}
	q.onDisk[queuedName(topic, id)] = (base + size) / consumequeue.UnitBytes
	return nil
}

// compare starts the store again, and looks at every unit and every acknowledged message.
func (q *queued) compare(_ *lone, h host.Host) error {
	began := h.Elapsed()
	return q.open(h, func(s *commitlog.Store) error {
		took := h.Elapsed() - began
		differ, notThere, behind, ahead := 0.0, 0, 0, 0
		if _, err := s.CheckAgreement(); err != nil {
			if !errors.Is(err, commitlog.ErrCorrupt) {
				return err
			}
			q.note("%s: %v", q.arm.cell(), err)
			differ = 1
		}
		for _, name := range host.SortedKeys(q.onDisk) {
			topic, id := name[:len(name)-2], int32(name[len(name)-1]-'0')
			_, high, err := s.Bounds(topic, id)
			if err != nil && !errors.Is(err, commitlog.ErrNoQueue) {
				return err
			}
			if q.onDisk[name] < high {
				behind++
			} else if q.onDisk[name] > high {
				ahead++
			}
		}
		for _, m := range q.placed {
			found, err := s.Pull(commitlog.PullRequest{Topic: m.topic, Queue: m.at.Queue, Offset: m.at.QueueOffset, Count: 1})
			if err != nil && !errors.Is(err, commitlog.ErrNoQueue) {
				return err
			}
			if len(found.Messages) != 1 || string(found.Messages[0].Body) != m.body || found.Messages[0].PhysicalOffset != m.at.Physical {
				notThere++
			}
		}
		c := q.group("After a crash", "Samples are crashes. In the modes interval and never a power cut may take acknowledged messages.").
			cell(q.arm.cell(), "flush", string(q.arm.flush), "queues", string(q.arm.left))
		c.sample(count(figureDiffer, reports.LowerBetter), differ)
		c.sample(count(figureNotThere, reports.LowerBetter), float64(notThere))
		c.sample(count(figureBehind, reports.NeitherBetter), float64(behind))
		c.sample(count(figureAhead, reports.NeitherBetter), float64(ahead))
		c.sample(quantity{figureStartTook, "ms", reports.ClockVirtual, reports.LowerBetter}, millis(took))
		return nil
	})
}

// rebuildOnDisk times starts without a checkpoint on this machine.
func (r *run) rebuildOnDisk(ctx context.Context) error {
	return r.inScratch(ctx, func(ctx context.Context, dir string) error {
		config := commitlog.DefaultConfig()
		config.Flush, config.FileBytes, config.KeyIndex = commitlog.FlushNever, 64<<20, false
		messages := either(r, 256<<10, 4<<10) // of 1 KiB each
		err := onThisMachine(ctx, r, dir, commitlog.StoreVolume, func(h host.Host) error {
			s, err := commitlog.Open(h, h.Root(), config)
			if err != nil {
				return err
			}
			return errors.Join(appendMany(h, s, queuedTopic(0), queuedQueues, messages, 900), s.Close())
		})
		for round := 0; err == nil && round < either(r, 5, 1); round++ {
			err = r.rebuild(ctx, dir, config)
		}
		return err
	})
}

// rebuild starts a store whose checkpoint is gone.
func (r *run) rebuild(ctx context.Context, dir string, config commitlog.Config) error {
	return onThisMachine(ctx, r, dir, commitlog.StoreVolume, func(h host.Host) error {
		volume, err := h.Disk(commitlog.StoreVolume)
		if err == nil {
			err = removeCheckpoints(volume)
		}
		if err != nil {
			return err
		}
		began := time.Now()
		s, err := commitlog.Open(h, h.Root(), config)
		if err != nil {
			return err
		}
		took := time.Since(began)
		stats := s.Stats()
		c := r.group("Queues made anew on this machine", "Messages of 1 KiB, four queues, page cache warm.").cell(cellRebuild, "log", fmt.Sprintf("%d MiB", stats.Confirmed>>20))
		c.sample(quantity{figureRebuildGB, "s", reports.ClockWall, reports.LowerBetter}, took.Seconds()*float64(1<<30)/float64(stats.Confirmed))
		return s.Close()
	})
}

// Bounds of the verdict on queues.
const (
	queuedCrashesMin = 90
	queuedEitherMin  = 10
)

// judgeQueues: after every crash the queues are exact, and dispatch catches up.
func judgeQueues(r *reports.Result) reports.Verdict {
	var j judgement
	crashes, behind, ahead := 0, 0, 0
	for _, a := range queuedArms() {
		differ, ok := j.figureOf(r, a.cell(), figureDiffer)
		gone, found := j.figureOf(r, a.cell(), figureNotThere)
		late, seen := j.figureOf(r, a.cell(), figureBehind)
		early, counted := j.figureOf(r, a.cell(), figureAhead)
		if !ok || !found || !seen || !counted {
			continue
		}
		crashes += len(differ.Samples)
		behind += positive(late.Samples)
		ahead += positive(early.Samples)
		if n := total(&differ); n > 0 {
			j.refute("log and queues differ after %s crashes, %s", short(n), a.cell())
		}
		if n := total(&gone); n > 0 && a.flush == commitlog.FlushGroup {
			j.refute("%s acknowledged messages are not where they were told to be, %s", short(n), a.cell())
		}
	}
	j.caughtUp(r)
	switch {
	case crashes < queuedCrashesMin:
		j.leaveOpen("%d crashes, and it takes %d", crashes, queuedCrashesMin)
	case min(behind, ahead) < queuedEitherMin:
		j.leaveOpen("%d crashes found queues behind and %d ahead, and it takes %d of both", behind, ahead, queuedEitherMin)
	default:
		j.support("%d crashes, of which %d found queues behind the log and %d ahead", crashes, behind, ahead)
	}
	return j.verdict()
}

// caughtUp wants every message to have its unit a second after the load.
func (j *judgement) caughtUp(r *reports.Result) {
	seen := 0
	for _, g := range r.Groups {
		for _, c := range g.Cells {
			left, ok := c.Figure(figureLagEnd)
			if !ok {
				continue
			}
			seen++
			if slices.Max(left.Samples) > 0 {
				j.refute("%s messages have no unit a second after the load, %s", short(slices.Max(left.Samples)), c.Name)
			}
		}
	}
	if seen == 0 {
		j.leaveOpen("no lag was measured")
	}
}

// positive counts the samples above zero.
func positive(samples []float64) (n int) {
	for _, s := range samples {
		if s > 0 {
			n++
		}
	}
	return n
}

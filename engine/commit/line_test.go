package commit_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"lakebed/engine/commit"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/sim"
)

// batch is what a group gathers: numbers, in the order of their appends.
type batch struct{ numbers []int }

var errDisk = errors.New("the disk has failed")

// ledger keeps what was committed and settled. Its commits take a moment, so that others come meanwhile.
type ledger struct {
	h         host.Host
	line      *commit.Line[*batch]
	pause     time.Duration
	failAfter int // groups; zero: none fails
	hold      host.Gate

	mutex     host.Mutex
	appended  []int // in the order of Enter, refused ones not among them
	committed []int
	settled   []int
	groups    int
	under     int // commits under way
	broken    []string
	stored    map[int]bool // numbers of groups whose commit has succeeded
}

func newLedger(h host.Host, config commit.Config[*batch]) *ledger {
	l := &ledger{h: h, mutex: h.NewMutex("ledger"), stored: map[int]bool{}}
	config.Name, config.Payloads, config.Commit, config.Settle = "line", [3]*batch{{}, {}, {}}, l.commit, l.settle
	if config.Limit == 0 {
		config.Limit = 100
	}
	l.line = commit.New(h, h.Root(), config)
	return l
}

func (l *ledger) complain(format string, args ...any) {
	l.broken = append(l.broken, fmt.Sprintf(format, args...))
}

func (l *ledger) commit(b *batch) error {
	l.mutex.Lock()
	l.under++
	if l.under > 1 {
		l.complain("%d commits at once", l.under)
	}
	l.groups++
	failing := l.failAfter > 0 && l.groups > l.failAfter
	l.mutex.Unlock()
	if l.hold != nil {
		l.hold.Wait()
	}
	if l.pause > 0 {
		l.h.Root().Sleep(l.pause)
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.under--
	if failing {
		if l.groups > l.failAfter+1 {
			l.complain("a group was committed after one had failed")
		}
		return errDisk
	}
	l.committed = append(l.committed, b.numbers...)
	for _, n := range b.numbers {
		l.stored[n] = true
	}
	return nil
}

func (l *ledger) settle(b *batch, err error) error {
	if l.pause > 0 && len(b.numbers) > 1 {
		l.h.Root().Sleep(2 * l.pause) // a group that comes later must not overtake it
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.settled = append(l.settled, b.numbers...)
	for _, n := range b.numbers {
		if l.stored[n] != (err == nil) {
			l.complain("%d is settled with %v, and stored: %v", n, err, l.stored[n])
		}
	}
	b.numbers = b.numbers[:0]
	return err
}

// enter enters the open group when there is room: in turn, or as soon as it finds any.
func (l *ledger) enter(inTurn bool) (*batch, error) {
	if inTurn {
		return l.line.EnterInTurn()
	}
	for {
		if b, ok := l.line.Enter(); ok {
			return b, nil
		}
		if err := l.line.AwaitRoom(); err != nil {
			return nil, err
		}
	}
}

// append appends one number of one byte, an even one in turn, and waits if wait says so.
func (l *ledger) append(n int, wait bool) error {
	b, err := l.enter(n%2 == 0)
	if err != nil {
		return err
	}
	b.numbers = append(b.numbers, n)
	l.mutex.Lock()
	l.appended = append(l.appended, n)
	l.mutex.Unlock()
	if !wait {
		l.line.Leave(1)
		return nil
	}
	err = l.line.Commit(1).Wait()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.stored[n] != (err == nil) {
		l.complain("the appender of %d is told %v, and it is stored: %v", n, err, l.stored[n])
	}
	if !slices.Contains(l.settled, n) {
		l.complain("the appender of %d is told before its group is settled", n)
	}
	return err
}

// verdict says what was not as promised, once all is over.
func (l *ledger) verdict() error {
	if !slices.Equal(l.appended, l.settled) {
		l.complain("appended %v\nsettled  %v", l.appended, l.settled)
	}
	if n := len(l.committed); !slices.Equal(l.appended[:n], l.committed) {
		l.complain("appended %v\ncommitted %v", l.appended, l.committed)
	}
	if len(l.broken) > 0 {
		return errors.New(l.broken[0])
	}
	return nil
}

// storm has several appenders at work, with pauses, so that some find nobody before them and others a line.
func storm(config commit.Config[*batch], failAfter, appenders, each int, pause time.Duration) func(h host.Host) error {
	return func(h host.Host) error {
		l := newLedger(h, config)
		l.failAfter, l.pause = failAfter, pause
		g := h.Root().New("appenders")
		for task := range appenders {
			r := h.Rand(fmt.Sprint("appender", task))
			g.Go("appender", func() {
				for i := range each {
					if r.IntN(3) == 0 {
						g.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond)
					}
					if err := l.append(task*each+i, r.IntN(5) > 0); err != nil && (failAfter == 0 || !errors.Is(err, errDisk)) {
						l.mutex.Lock()
						l.complain("append %d of task %d: %v", i, task, err)
						l.mutex.Unlock()
					}
				}
			})
		}
		g.Wait()
		l.line.End()
		if err := l.append(-1, true); failAfter == 0 && !errors.Is(err, host.ErrStopping) {
			return fmt.Errorf("an append after the end: %w", err)
		}
		if stored := len(l.committed); failAfter == 0 && stored != appenders*each {
			return fmt.Errorf("%d of %d are committed", stored, appenders*each)
		}
		return l.verdict()
	}
}

// inWorld runs f as the only node of a simulated world.
func inWorld(t *testing.T, seed uint64, f func(h host.Host) error) {
	t.Helper()
	w := sim.New(sim.Config{Seed: seed})
	n := w.NewNode("node")
	n.Start(f)
	if v := w.Run(time.Hour); v.Failed() || n.BootErr() != nil {
		t.Fatalf("seed %d: %s\n%v", seed, v.String(), n.BootErr())
	}
}

// onMachine runs f on real goroutines.
func onMachine(t *testing.T, f func(h host.Host) error) {
	t.Helper()
	if err := oshost.Run(t.Context(), oshost.Config{Logger: slog.New(slog.DiscardHandler)}, f); err != nil {
		t.Fatal(err)
	}
}

var storms = []struct {
	name      string
	config    commit.Config[*batch]
	failAfter int
}{
	{"by tasks", commit.Config[*batch]{}, 0},
	{"by appenders", commit.Config[*batch]{ByAppender: true}, 0},
	{"by appenders, one a group", commit.Config[*batch]{ByAppender: true, Limit: 1}, 0},
	{"waiting", commit.Config[*batch]{ByAppender: true, Wait: 300 * time.Microsecond}, 0},
	{"waiting, few a group", commit.Config[*batch]{Limit: 3, Wait: 2 * time.Millisecond}, 0},
	{"waiting, few a group, then failing", commit.Config[*batch]{Limit: 3, Wait: 2 * time.Millisecond}, 9},
	{"by tasks, then failing", commit.Config[*batch]{}, 9},
	{"by appenders, then failing", commit.Config[*batch]{ByAppender: true}, 9},
	{"by appenders, one a group, then failing", commit.Config[*batch]{ByAppender: true, Limit: 1}, 9},
}

// TestGroupsAreCommittedOneAtATimeInOrder in many schedules: each append is committed and settled once, in the order of the
// appends; whoever waits is told what became of its own, and after a failure nothing is committed any more.
func TestGroupsAreCommittedOneAtATimeInOrder(t *testing.T) {
	for _, s := range storms {
		t.Run(s.name, func(t *testing.T) {
			for seed := range uint64(60) {
				inWorld(t, seed, storm(s.config, s.failAfter, 4, 12, time.Duration(seed%4)*200*time.Microsecond))
			}
		})
	}
}

// TestGroupsAreCommittedOneAtATimeOnGoroutines is the same with real tasks.
func TestGroupsAreCommittedOneAtATimeOnGoroutines(t *testing.T) {
	for _, s := range storms {
		t.Run(s.name, func(t *testing.T) {
			for _, pause := range []time.Duration{0, 100 * time.Microsecond} {
				onMachine(t, storm(s.config, s.failAfter, 6, 60, pause))
			}
		})
	}
}

// TestALoneAppenderCommitsInItsOwnTask and wakes nobody: the task that calls Commit is the one that calls Config.Commit. Who
// comes meanwhile is committed by the line's task, and so is everybody where appenders do not commit.
func TestALoneAppenderCommitsInItsOwnTask(t *testing.T) {
	for _, own := range []bool{true, false} {
		inWorld(t, 1, func(h host.Host) error {
			inside, inCommit := false, false
			var line *commit.Line[*batch]
			config := commit.Config[*batch]{
				Name: "line", Limit: 10, ByAppender: own, Payloads: [3]*batch{{}, {}, {}},
				Commit: func(*batch) error { inCommit = inside; return nil }, Settle: func(_ *batch, err error) error { return err },
			}
			line = commit.New(h, h.Root(), config)
			h.Root().Sleep(time.Millisecond)
			if _, ok := line.Enter(); !ok {
				return errors.New("an empty line takes nothing")
			}
			if leads := line.Leads(); leads != own {
				return fmt.Errorf("leads: %v, want %v", leads, own)
			}
			inside = true
			ticket := line.Commit(1)
			inside = false
			if err := ticket.Wait(); err != nil {
				return err
			}
			if inCommit != own {
				return fmt.Errorf("committed in the appender's task: %v, want %v", inCommit, own)
			}
			line.End()
			return nil
		})
	}
}

// TestWhatComesDuringACommitIsTheNextGroup: one group for all of it, committed after the first and not together with it; End
// waits for an appender that commits, and for those behind it.
func TestWhatComesDuringACommitIsTheNextGroup(t *testing.T) {
	inWorld(t, 1, func(h host.Host) error {
		l := newLedger(h, commit.Config[*batch]{ByAppender: true})
		l.hold = h.Root().NewGate()
		g := h.Root().New("appenders")
		g.Go("first", func() { _ = l.append(0, true) })
		g.Sleep(time.Millisecond)
		for i := 1; i < 6; i++ {
			g.Go("other", func() { _ = l.append(i, true) })
			g.Sleep(time.Millisecond)
		}
		if l.groups != 1 || len(l.settled) != 0 {
			return fmt.Errorf("%d groups begun, %d settled, while the first is under way", l.groups, len(l.settled))
		}
		ended := false
		g.Go("end", func() { l.line.End(); ended = true })
		g.Sleep(time.Millisecond)
		if ended {
			return errors.New("the line has ended while an appender commits")
		}
		l.hold.Open()
		g.Wait()
		if l.groups != 2 || len(l.settled) != 6 {
			return fmt.Errorf("%d groups, %d settled, want 2 and 6", l.groups, len(l.settled))
		}
		return l.verdict()
	})
}

// TestTheEndWaitsForALoneAppender that commits, though nobody is behind it.
func TestTheEndWaitsForALoneAppender(t *testing.T) {
	inWorld(t, 1, func(h host.Host) error {
		l := newLedger(h, commit.Config[*batch]{ByAppender: true})
		l.pause = time.Second
		g := h.Root().New("appenders")
		g.Go("appender", func() { _ = l.append(0, true) })
		g.Sleep(time.Millisecond)
		l.line.End()
		if len(l.settled) != 1 {
			return errors.New("the line has ended before its only group")
		}
		g.Wait()
		return l.verdict()
	})
}

// TestFailStopsALineFromOutside: the group under way keeps its own outcome, the next one fails without being committed, and
// whoever waits for room is told.
func TestFailStopsALineFromOutside(t *testing.T) {
	inWorld(t, 1, func(h host.Host) error {
		l := newLedger(h, commit.Config[*batch]{ByAppender: true, Limit: 1})
		l.hold = h.Root().NewGate()
		g := h.Root().New("appenders")
		told := make([]error, 3)
		for i := range told {
			g.Go("appender", func() { told[i] = l.append(i, true) })
			g.Sleep(time.Millisecond)
		}
		l.line.Fail(errDisk)
		l.line.Fail(errors.New("a second failure counts for nothing"))
		g.Sleep(time.Millisecond)
		if told[2] != errDisk {
			return fmt.Errorf("who waits for room is told: %w", told[2])
		}
		l.hold.Open()
		g.Wait()
		if told[0] != nil || told[1] != errDisk || l.groups != 1 {
			return fmt.Errorf("%d groups, the first is told %w, the second %w", l.groups, told[0], told[1])
		}
		l.line.End()
		return l.verdict()
	})
}

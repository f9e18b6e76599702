package commit_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/commit"
	"lakebed/engine/host"
)

// comers has one appender come after the other, a millisecond between two, and returns what each is told, and when.
func comers(l *ledger, count int) (told []error, after []time.Duration, all host.Group) {
	told, after, all = make([]error, count), make([]time.Duration, count), l.h.Root().New("comers")
	begun := l.h.Elapsed()
	for i := range count {
		all.Go("comer", func() {
			all.Sleep(time.Duration(i) * time.Millisecond)
			told[i] = l.append(i, true)
			after[i] = l.h.Elapsed() - begun
		})
	}
	return told, after, all
}

// TestAGroupThatIsNotFullWaitsForMoreAsLongAsItMay from its first append on, whoever commits otherwise: those who come in that
// time share a commit, and the next one begins another group.
func TestAGroupThatIsNotFullWaitsForMoreAsLongAsItMay(t *testing.T) {
	for _, byAppender := range []bool{true, false} {
		inWorld(t, 1, func(h host.Host) error {
			const wait = 4500 * time.Microsecond
			l := newLedger(h, commit.Config[*batch]{ByAppender: byAppender, Wait: wait})
			_, after, all := comers(l, 8)
			all.Wait()
			for i, at := range after {
				if want := wait + time.Duration(i/5*5)*time.Millisecond; at < want || at > want+time.Millisecond/2 {
					return fmt.Errorf("append %d is committed after %v, want %v", i, at, want)
				}
			}
			if l.groups != 2 {
				return fmt.Errorf("%d groups, want 2", l.groups)
			}
			l.line.End()
			return l.verdict()
		})
	}
}

// TestTheTimeOfAGroupRunsWhileTheOneBeforeIsCommitted: what has waited for a commit long enough waits no more for company.
func TestTheTimeOfAGroupRunsWhileTheOneBeforeIsCommitted(t *testing.T) {
	inWorld(t, 1, func(h host.Host) error {
		l := newLedger(h, commit.Config[*batch]{Wait: 2500 * time.Microsecond})
		l.pause = 10 * time.Millisecond
		_, after, all := comers(l, 5) // the first three are committed from 2.5 to 12.5 ms, and settled until 32.5
		all.Wait()
		if at := after[4]; l.groups != 2 || at < 40*time.Millisecond || at > 55*time.Millisecond {
			return fmt.Errorf("%d groups, the last is told after %v", l.groups, at)
		}
		l.line.End()
		return l.verdict()
	})
}

// TestAGroupThatIsFullEndsOrFailsDoesNotWait, though it may for an hour.
func TestAGroupThatIsFullEndsOrFailsDoesNotWait(t *testing.T) {
	for _, ending := range []struct {
		what string
		end  func(l *ledger)
		want error
	}{
		{"is full", func(l *ledger) { _ = l.append(3, false) }, nil},
		{"ends", func(l *ledger) { l.line.End() }, nil},
		{"is hurried", func(l *ledger) { l.line.Hurry() }, nil},
		{"fails", func(l *ledger) { l.line.Fail(errDisk) }, errDisk},
	} {
		inWorld(t, 1, func(h host.Host) error {
			l := newLedger(h, commit.Config[*batch]{ByAppender: true, Limit: 4, Wait: time.Hour})
			begun := h.Elapsed()
			told, _, all := comers(l, 3)
			h.Root().Sleep(50 * time.Millisecond)
			if l.groups != 0 {
				return fmt.Errorf("a group that %s: it has not waited before", ending.what)
			}
			ending.end(l)
			all.Wait()
			if took := h.Elapsed() - begun; took > time.Second {
				return fmt.Errorf("a group that %s has waited %v", ending.what, took)
			}
			for i, err := range told {
				if !errors.Is(err, ending.want) {
					return fmt.Errorf("a group that %s: append %d is told %w", ending.what, i, err)
				}
			}
			l.line.End()
			return l.verdict()
		})
	}
}

// TestAHurriedLineWaitsNoMore, also for what is appended later.
func TestAHurriedLineWaitsNoMore(t *testing.T) {
	inWorld(t, 1, func(h host.Host) error {
		l := newLedger(h, commit.Config[*batch]{Wait: time.Hour})
		l.line.Hurry()
		begun := h.Elapsed()
		if err := l.append(0, true); err != nil {
			return err
		}
		if took := h.Elapsed() - begun; took > time.Second {
			return fmt.Errorf("an append to a hurried line has waited %v", took)
		}
		l.line.End()
		return l.verdict()
	})
}

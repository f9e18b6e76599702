package commit_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lakebed/engine/commit"
	"lakebed/engine/host"
)

// TestRoomIsGivenInTurn: of those who wait for room in a group, each gets it in the order in which they came, also before one who
// comes when there is some; and one that withdraws passes it on.
func TestRoomIsGivenInTurn(t *testing.T) {
	for seed := range uint64(20) {
		for limit := int64(1); limit <= 3; limit++ {
			inWorld(t, seed, func(h host.Host) error {
				l := newLedger(h, commit.Config[*batch]{ByAppender: seed%2 == 0, Limit: limit})
				l.pause = time.Millisecond
				const count = 12
				all := h.Root().New("comers")
				var want []int
				for i := range count {
					if i%4 != 3 {
						want = append(want, 2*i)
					}
					all.Go("comer", func() {
						all.Sleep(time.Duration(i) * 300 * time.Microsecond) // many come during a commit, and some when one ends
						if i%4 != 3 {
							if err := l.append(2*i, true); err != nil {
								l.complain("%v", err)
							}
						} else if _, err := l.line.EnterInTurn(); err != nil {
							l.complain("%v", err)
						} else {
							l.line.Withdraw()
						}
					})
				}
				all.Wait()
				l.line.End()
				if !slices.Equal(l.appended, want) {
					return fmt.Errorf("limit %d: they came as %v, and have appended as %v", limit, want, l.appended)
				}
				return l.verdict()
			})
		}
	}
}

// TestWhoWaitsInTurnHearsOfAFailure, all of them at once.
func TestWhoWaitsInTurnHearsOfAFailure(t *testing.T) {
	inWorld(t, 1, func(h host.Host) error {
		l := newLedger(h, commit.Config[*batch]{Limit: 1})
		l.hold = h.Root().NewGate()
		told, all := make([]error, 5), h.Root().New("comers")
		for i := range told {
			all.Go("comer", func() { told[i] = l.append(2*i, true) })
		}
		h.Root().Sleep(time.Millisecond)
		l.line.Fail(errDisk)
		l.hold.Open()
		all.Wait()
		l.line.End()
		refused := 0
		for _, err := range told {
			if errors.Is(err, errDisk) {
				refused++
			}
		}
		if refused < len(told)-2 { // one was under way, and one may be in the next group
			return fmt.Errorf("they were told %v", told)
		}
		return nil
	})
}

// TestRoomForSeveralIsGivenToSeveral: groups are as full as the limit lets them be, though one waiter only is called for each.
func TestRoomForSeveralIsGivenToSeveral(t *testing.T) {
	for seed := range uint64(10) {
		inWorld(t, seed, func(h host.Host) error {
			l := newLedger(h, commit.Config[*batch]{Limit: 3})
			l.hold = h.Root().NewGate()
			all := h.Root().New("comers")
			for i := range 10 {
				all.Go("comer", func() {
					all.Sleep(time.Duration(i) * time.Millisecond)
					if err := l.append(2*i, true); err != nil {
						l.complain("%v", err)
					}
				})
			}
			h.Root().Sleep(20 * time.Millisecond)
			l.pause = time.Millisecond
			l.hold.Open()
			all.Wait()
			l.line.End()
			if l.groups != 4 {
				return fmt.Errorf("one append and nine that wait are committed in %d groups of 3 at most", l.groups)
			}
			return l.verdict()
		})
	}
}

// TestTheEndLeavesNoneWaitingInTurn: whoever waits for room when the line ends is committed, or told that it has ended.
func TestTheEndLeavesNoneWaitingInTurn(t *testing.T) {
	for seed := range uint64(20) {
		inWorld(t, seed, func(h host.Host) error {
			l := newLedger(h, commit.Config[*batch]{Limit: 1})
			l.hold = h.Root().NewGate() // commits take no time then: the line may end before the one who was called has come
			told, all := make([]error, 6), h.Root().New("comers")
			for i := range told {
				all.Go("comer", func() { told[i] = l.append(2*i, true) })
			}
			h.Root().Sleep(time.Millisecond)
			l.hold.Open()
			l.line.End()
			all.Wait()
			for i, err := range told {
				if err != nil && !errors.Is(err, host.ErrStopping) {
					return fmt.Errorf("append %d is told %v", i, err)
				}
			}
			return l.verdict()
		})
	}
}

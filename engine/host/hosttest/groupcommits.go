package hosttest

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/host"
)

// gathering is a group commit of numbers, one byte each, and the groups that it has committed.
type gathering struct {
	commits   *host.GroupCommit[*[]int]
	committed *shared[[][]int]
}

func newGathering(h host.Host, limit int64, wait time.Duration) *gathering {
	g := &gathering{committed: newShared[[][]int](h, "committed")}
	g.commits = host.NewGroupCommit(h, h.Root(), host.GroupCommitConfig[*[]int]{
		Name: "hosttest.commit", Limit: limit, Wait: wait, Payloads: [3]*[]int{{}, {}, {}},
		Commit: func(numbers *[]int) error {
			g.committed.change(func(all *[][]int) { *all = append(*all, append([]int(nil), *numbers...)) })
			return nil
		},
		Settle: func(numbers *[]int, _ error) { *numbers = (*numbers)[:0] },
	})
	return g
}

// append appends a number, behind which the group is sealed if seal says so.
func (g *gathering) append(number int, seal bool) *host.Ticket {
	numbers, ticket, ok := g.commits.Enter()
	if !ok {
		return nil
	}
	*numbers = append(*numbers, number)
	if seal {
		g.commits.Seal()
	}
	g.commits.Leave(1)
	return ticket
}

func (g *gathering) groups() string { return fmt.Sprint(g.committed.get()) }

// groupWaits also goes on appending: a group waits from its first append on, and not from the last one.
func groupWaits(h host.Host) error {
	const limit = 1 << 20
	g := newGathering(h, limit, moment)
	begun, appended := h.Elapsed(), 0
	first := g.append(appended, false)
	second := g.append(appended+1, false)
	inTime := h.Elapsed()-begun < moment // else this machine was busy, and the group may have gone without the second
	for appended = 2; len(g.committed.get()) == 0 && h.Elapsed()-begun < patience; appended++ {
		g.append(appended, false)
		h.Root().Sleep(moment / 8)
	}
	waited := h.Elapsed() - begun
	failure := errors.Join(
		that(waited >= moment, "a group was committed after %v, and may wait %v for more", waited, moment),
		that(waited < patience, "a group to which appends come all the time was not committed in %v", waited),
		that(first == second || !inTime, "two appends that came in time are in two groups"))
	g.commits.End()
	return errors.Join(failure, must("first append", first.Wait()))
}

// groupHurries has groups that may wait for longer than a contract has patience.
func groupHurries(h host.Host) (failure error) {
	const limit, wait = 3, 2 * patience
	for _, ending := range []struct {
		what string
		end  func(g *gathering)
		want string
	}{
		{"is full", func(g *gathering) { g.append(2, false); g.append(3, false) }, "[[1 2 3]]"},
		{"is sealed", func(g *gathering) { g.append(2, true) }, "[[1 2]]"},
		{"ends", func(g *gathering) { g.commits.End() }, "[[1]]"},
		{"is hurried", func(g *gathering) { g.commits.Hurry() }, "[[1]]"},
		{"fails", func(g *gathering) { g.commits.Fail(host.ErrIO) }, "[]"},
	} {
		g := newGathering(h, limit, wait)
		ticket := g.append(1, false)
		h.Root().Sleep(moment) // until the committing task waits for more
		early := g.groups()
		waited := took(h, func() {
			ending.end(g)
			_ = ticket.Wait()
			g.commits.End()
		})
		failure = errors.Join(failure, equal("groups before one "+ending.what, early, "[]"),
			that(waited < patience, "a group that %s waits %v for more", ending.what, waited),
			equal("groups when one "+ending.what, g.groups(), ending.want))
	}
	return failure
}

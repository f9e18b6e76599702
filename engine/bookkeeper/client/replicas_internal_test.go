package client

import (
	"errors"
	"fmt"
	"testing"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/client/pool"
	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// TestAReadReportsWhatLeavesMostOpen: that an entry does not exist is reported only if every replica said so, that it may
// be lost only if every replica answered; in whatever order they failed.
func TestAReadReportsWhatLeavesMostOpen(t *testing.T) {
	late := fmt.Errorf("read at a: %w", host.ErrTimeout)
	for _, c := range []struct {
		failures []error
		want     error
	}{
		{[]error{channel.ErrNoEntry, channel.ErrNoLedger, channel.ErrNoEntry}, ErrNoSuchEntry},
		{[]error{channel.ErrNoEntry, channel.ErrUnknown, channel.ErrNoEntry}, ErrMaybeLost},
		{[]error{channel.ErrUnknown, ErrDigest, channel.ErrNoEntry}, ErrDigest},
		{[]error{channel.ErrUnknown, late, channel.ErrNoEntry}, ErrUnavailable},
		{[]error{channel.ErrNoEntry, channel.ErrNoEntry, channel.ErrIO}, ErrUnavailable},
		{[]error{channel.ErrUnauthorized, channel.ErrNoEntry, late}, ErrUnauthorized},
		{[]error{ErrDigest, channel.ErrBroken, channel.ErrNoEntry}, ErrUnavailable},
		{[]error{fmt.Errorf("%w: %w", pool.ErrUnavailable, host.ErrRefused), channel.ErrNoEntry, channel.ErrNoEntry}, ErrUnavailable},
	} {
		for shift := range c.failures {
			var r replicas
			for i := range c.failures {
				r.failed(c.failures[(i+shift)%len(c.failures)])
			}
			got := readClass(r.problem)
			if got != c.want && !(c.want == ErrUnauthorized && got == ErrUnavailable) { // of these two the first one stays
				t.Errorf("%v from %d: %v, want %v", c.failures, shift, got, c.want)
			}
		}
	}
}

// TestOnlyProofsCountAsProofs: what a recovery takes for "absent" and "fenced" was said by a bookie, in so many words.
func TestOnlyProofsCountAsProofs(t *testing.T) {
	for _, c := range []struct {
		err  error
		want protocol.ReadOutcome
	}{
		{channel.ErrNoEntry, protocol.ReadAbsent},
		{channel.ErrNoLedger, protocol.ReadAbsent},
		{channel.ErrUnknown, protocol.ReadUnknown},
		{ErrDigest, protocol.ReadCorrupt},
		{channel.ErrUnauthorized, protocol.ReadUnauthorized},
		{channel.ErrIO, protocol.ReadFailed},
		{channel.ErrFenced, protocol.ReadFailed},
		{host.ErrTimeout, protocol.ReadFailed},
		{fmt.Errorf("%w: %w", channel.ErrBroken, host.ErrReset), protocol.ReadFailed},
		{fmt.Errorf("%w: %w", pool.ErrUnavailable, channel.ErrNoEntry), protocol.ReadFailed},
	} {
		if got := readOutcome(fmt.Errorf("read: %w", c.err)); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

// TestALACReadIsCoveredWhenNoAckQuorumCanHide among the bookies that are silent.
func TestALACReadIsCoveredWhenNoAckQuorumCanHide(t *testing.T) {
	for _, c := range []struct {
		e, qw, qa int
		heard     []bool
		want      bool
	}{
		{3, 3, 2, []bool{true, true, false}, true},
		{3, 3, 2, []bool{true, false, false}, false},
		{3, 3, 3, []bool{true, false, false}, true},
		{3, 3, 1, []bool{true, true, false}, false},
		{3, 2, 2, []bool{true, false, false}, false},
		{6, 3, 2, []bool{false, true, true, false, true, true}, true}, // the silent ones share no write set
		{5, 3, 2, []bool{true, false, false, true, true}, false},
		{5, 3, 2, []bool{false, true, true, true, false}, false}, // across the end
		{1, 1, 1, []bool{false}, false},
	} {
		if got := covered(ledger.Quorum{Ensemble: c.e, Write: c.qw, Ack: c.qa}, c.heard); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestOpsStayInOrderWhileTheRingGrowsAndWraps.
func TestOpsStayInOrderWhileTheRingGrowsAndWraps(t *testing.T) {
	var o ops
	next, first := ledger.EntryID(5), ledger.EntryID(5)
	for round := range 200 {
		for range round % 37 {
			o.push(next, &Op{Entry: next})
			next++
		}
		if o.get(first-1) != nil || o.get(next) != nil {
			t.Fatal("an append that is not under way")
		}
		for ; first < next-ledger.EntryID(round%11); first++ {
			if op := o.get(first); op == nil || op.Entry != first || o.pop(first) != op {
				t.Fatalf("entry %d is not in its place", first)
			}
		}
	}
}

// TestFailuresHaveTheirClasses, each of which tells a caller what it can do.
func TestFailuresHaveTheirClasses(t *testing.T) {
	for f, want := range map[protocol.Failure]error{
		protocol.Fenced: ErrFenced, protocol.ClosedElsewhere: ErrClosed, protocol.CloseAsked: ErrClosed,
		protocol.Deleted: ErrNoSuchLedger, protocol.Unauthorized: ErrUnauthorized, protocol.Diverged: ErrConflict,
		protocol.NotEnoughBookies: ErrNotEnoughBookies, protocol.TooManyChanges: ErrTooManyChanges,
		protocol.BookieFailed: ErrBookieFailed, protocol.MetadataFailed: ErrUnavailable, protocol.Uncovered: ErrUnavailable,
		protocol.Undecided: ErrUnavailable, protocol.Damaged: ErrDigest,
	} {
		if got := failureClass(f); !errors.Is(got, want) {
			t.Errorf("%v: %v, want %v", f, got, want)
		}
	}
}

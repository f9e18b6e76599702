package replicated

import (
	"testing"
	"time"

	"lakebed/model"
)

// TestUnfinishedSessionsAreToldWithWhatTheyWaitFor, and none that has ended or died.
func TestUnfinishedSessionsAreToldWithWhatTheyWaitFor(t *testing.T) {
	r := NewRecorder()
	now := time.Duration(0)
	r.Watch(Watcher{Clock: func() time.Duration { now += time.Second; return now }})
	for id, name := range []string{0: "write", 1: "tail", 2: "delete", 3: "write"} {
		r.Chapter(model.ClientID(id), name)
	}
	r.Begin(model.ClusterOp{Kind: model.LedgerAppend, Client: 0, Ledger: 7})
	r.Begin(model.ClusterOp{Kind: model.LedgerAppend, Client: 0, Ledger: 7})
	read := r.Begin(model.ClusterOp{Kind: model.LedgerRead, Client: 1, Ledger: 9})
	r.End(read, model.NoEntry, nil)
	r.Chapter(2, "")
	r.Died(func(id model.ClientID) bool { return id == 3 })
	r.Begin(model.ClusterOp{Kind: model.LedgerCreate, Client: 5})

	got := r.Unfinished()
	if len(got) != 3 || got[0].Session != 0 || got[1].Session != 1 || got[2].Session != 5 {
		t.Fatalf("%+v", got)
	}
	if s := got[0]; s.Chapter != "write" || s.Since != time.Second || len(s.Ops) != 2 || s.Ops[0].Since != 5*time.Second ||
		s.Ops[1].Since != 6*time.Second || s.Ops[0].Op.Ledger != 7 {
		t.Errorf("writer: %+v", s)
	}
	if s := got[1]; s.Chapter != "tail" || len(s.Ops) != 0 || !s.Worked || s.Ledger != 9 {
		t.Errorf("between operations: %+v", s)
	}
	if s := got[2]; s.Chapter != "" || len(s.Ops) != 1 || s.Worked {
		t.Errorf("without a chapter: %+v", s)
	}
}

// TestStampsHaveTimesWhereSomebodyWatches.
func TestStampsHaveTimesWhereSomebodyWatches(t *testing.T) {
	now := time.Duration(0)
	for _, c := range []struct {
		watcher Watcher
		known   bool
	}{{Watcher{}, false}, {Watcher{Clock: func() time.Duration { return now }}, true}} {
		r := NewRecorder()
		r.Watch(c.watcher)
		now = 3 * time.Second
		token := r.Begin(model.ClusterOp{Kind: model.LedgerDelete, Ledger: 1})
		now = 4 * time.Second
		r.End(token, model.OK, nil)
		op := r.History().Ops[0]
		called, knownCall := r.Time(op.Call)
		returned, knownReturn := r.Time(op.Return)
		if knownCall != c.known || knownReturn != c.known || c.known && (called != 3*time.Second || returned != 4*time.Second) {
			t.Errorf("called %s %t, returned %s %t", called, knownCall, returned, knownReturn)
		}
		for _, none := range []model.Stamp{0, model.Never, op.Return + 1} {
			if _, known := r.Time(none); known {
				t.Errorf("stamp %d has a time", none)
			}
		}
	}
}

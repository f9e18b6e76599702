package registers

import (
	"testing"

	"lakebed/model"
	"lakebed/workloads/agenda"
)

// TestWhatADeadClientHadUnderWayMayStillHappen: it has no end, others keep theirs, and an answer that comes later is not heard.
func TestWhatADeadClientHadUnderWayMayStillHappen(t *testing.T) {
	l := NewLab(Mix{Keys: 1}, agenda.New(1))
	l.looked(Look{Client: 1})
	dead, alive := l.begin(Operation{By: 1}), l.begin(Operation{By: 2})
	l.Died(1)
	l.end(dead, model.OK, nil)
	l.end(alive, model.OK, nil)
	ops := l.Operations()
	if len(ops) != 2 || ops[0].Outcome != model.Unknown || ops[0].Return != model.Never || ops[1].Outcome != model.OK || ops[1].Return < ops[1].Call {
		t.Errorf("recorded %+v", ops)
	}
	if l.Open() != 0 || len(l.Looks()) != 0 {
		t.Errorf("%d open, looks %v", l.Open(), l.Looks())
	}
}

// TestAnOutcomeThatIsUnknownHasNoEnd: the write may take effect after its client has given it up.
func TestAnOutcomeThatIsUnknownHasNoEnd(t *testing.T) {
	l := NewLab(Mix{Keys: 1}, agenda.New(1))
	l.end(l.begin(Operation{}), model.Unknown, nil)
	if op := l.Operations()[0]; op.Return != model.Never {
		t.Errorf("recorded %+v", op)
	}
}

package workloads

import (
	"sync"
	"time"

	"lakebed/model"
	"lakebed/workloads/stamp"
)

// Recorder writes the history. It may be used from tasks on real goroutines: its lock is never held across a call of
// the seam.
type Recorder struct {
	mutex       sync.Mutex
	history     model.History
	stamps      stamp.Clock
	incarnation model.Incarnation
	open        map[int]*pending // operations that have not ended, by number
	next        int
	started     int64
	answers     map[answer]int64
	idle        []*pending // to use again
}

// answer is how operations of a kind ended.
type answer struct {
	kind    model.Kind
	outcome model.Outcome
}

// pending is an operation under way.
type pending struct {
	op     model.Op
	remote bool // its effect may come after its client has given up
}

// NewRecorder starts an empty history.
func NewRecorder() *Recorder {
	return &Recorder{open: make(map[int]*pending), answers: make(map[answer]int64)}
}

// Watch has the recorder keep the time of its stamps. It is to be called before the first operation.
func (r *Recorder) Watch(clock func() time.Duration) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.stamps.Watch(clock)
}

// Time is when a stamp was given. False: nobody watches, or there is no such stamp.
func (r *Recorder) Time(at model.Stamp) (time.Duration, bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.stamps.Time(at)
}

// Token stands for an operation under way.
type Token int

// Begin records that an operation starts now.
func (r *Recorder) Begin(op model.Op) Token {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.begin(op, false)
}

// BeginRemote is Begin for an operation that may still take effect after its client has given up on it.
func (r *Recorder) BeginRemote(op model.Op) Token {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.begin(op, true)
}

func (r *Recorder) begin(op model.Op, remote bool) Token {
	r.stamps.Next()
	r.started++
	op.Call, op.CallIncarnation = r.stamps.Last(), r.incarnation
	r.next++
	p := new(pending)
	if last := len(r.idle) - 1; last >= 0 {
		p, r.idle = r.idle[last], r.idle[:last]
	}
	*p = pending{op: op, remote: remote}
	r.open[r.next] = p
	return Token(r.next)
}

// End records an outcome; fill adds what was answered.
func (r *Recorder) End(t Token, outcome model.Outcome, fill func(op *model.Op)) {
	r.end(t, outcome, func(op model.Op) {
		if fill != nil {
			fill(&op)
		}
		r.history.Append(op)
	})
}

// EndRange records the outcome of a range read.
func (r *Recorder) EndRange(t Token, outcome model.Outcome, items []model.Item) {
	r.end(t, outcome, func(op model.Op) { r.history.AppendRange(op, items) })
}

// EndList records the outcome of a list.
func (r *Recorder) EndList(t Token, outcome model.Outcome, ledgers []model.LedgerID) {
	r.end(t, outcome, func(op model.Op) { r.history.AppendList(op, ledgers) })
}

func (r *Recorder) end(t Token, outcome model.Outcome, add func(op model.Op)) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	p := r.open[int(t)]
	if p == nil {
		return // a crash has ended it
	}
	delete(r.open, int(t))
	r.stamps.Next()
	p.op.Return, p.op.ReturnIncarnation, p.op.Outcome = r.stamps.Last(), r.incarnation, outcome
	if outcome == model.Unknown && p.remote {
		p.op.Return = model.Never
	}
	r.answers[answer{p.op.Kind, outcome}]++
	add(p.op)
	r.idle = append(r.idle, p)
}

// Started records that the bookie is up in a new incarnation.
func (r *Recorder) Started() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.incarnation++
}

// Stopped records that the bookie closed cleanly.
func (r *Recorder) Stopped() { r.ended(model.Stop, false) }

// Crashed records an unclean stop. What ran inside the bookie's process has ended without an answer, and cannot take
// effect any more.
func (r *Recorder) Crashed() { r.ended(model.Crash, true) }

func (r *Recorder) ended(kind model.EventKind, cut bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.stamps.Next()
	r.history.Event(model.Event{At: r.stamps.Last(), Kind: kind})
	if cut {
		r.cut(false)
	}
}

// Damaged records that media was damaged on purpose.
func (r *Recorder) Damaged() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.stamps.Next()
	r.history.Event(model.Event{At: r.stamps.Last(), Kind: model.Damage, Ledger: model.AnyLedger, Entry: model.AnyEntry})
}

// cut ends the operations that a crash, or the end of the trial, left open.
func (r *Recorder) cut(remoteToo bool) {
	for t := 1; t <= r.next; t++ {
		p := r.open[t]
		if p == nil || (p.remote && !remoteToo) {
			continue
		}
		delete(r.open, t)
		p.op.Return, p.op.ReturnIncarnation, p.op.Outcome = r.stamps.Last(), r.incarnation, model.Unknown
		if p.remote {
			p.op.Return = model.Never
		}
		r.answers[answer{p.op.Kind, model.Unknown}]++
		r.history.Append(p.op)
	}
}

// History ends what is open and returns the record.
func (r *Recorder) History() *model.History {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.stamps.Next()
	r.cut(true)
	return &r.history
}

// Operations is how many operations were started.
func (r *Recorder) Operations() int64 {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.started
}

// Answers counts outcomes, by "kind outcome".
func (r *Recorder) Answers() map[string]int64 {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	counts := make(map[string]int64, len(r.answers))
	for a, n := range r.answers {
		counts[a.kind.String()+" "+a.outcome.String()] = n
	}
	return counts
}

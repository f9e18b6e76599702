package registers

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"lakebed/model"
	"lakebed/workloads/agenda"
	"lakebed/workloads/stamp"
)

// Mix says how clients divide their work, by weight, and how many keys there are.
type Mix struct {
	Create, Put, Delete, Get, Sync int
	Announce                       int // an ephemeral key, which must go with its session

	Keys int
}

// The folders of what clients make.
const (
	registersFolder = "/registers"
	// PresentFolder holds the ephemeral keys.
	PresentFolder = "/present"
)

func keyOf(register int) string { return fmt.Sprintf("%s/%d", registersFolder, register) }

// Operation is one that a client did to a register.
type Operation struct {
	model.RegisterOp
	Register int
	By       int // the client
}

// Look is what a client saw of the register that it watches.
type Look struct {
	Client, Register int
	Value            uint64 // zero: there is no such key
}

// Lab is what all clients of one store share, and the record of what they saw. It may be used from tasks on real goroutines;
// its lock is never held across a call of the seam.
type Lab struct {
	mix    Mix
	agenda *agenda.Agenda

	mutex    sync.Mutex
	stamps   stamp.Clock
	values   uint64
	open     map[int]*Operation // under way, by number
	begun    int
	done     []Operation
	looks    map[int]Look // by client
	answers  map[string]int64
	finished bool
}

// NewLab makes a lab in which nothing has happened. Clients do what the agenda says.
func NewLab(mix Mix, a *agenda.Agenda) *Lab {
	return &Lab{mix: mix, agenda: a, open: map[int]*Operation{}, looks: map[int]Look{}, answers: map[string]int64{}}
}

// Watch has the lab keep the time of its stamps. It is to be called before the first operation.
func (l *Lab) Watch(clock func() time.Duration) { l.stamps.Watch(clock) }

// Time is when a stamp was given. False: nobody watches, or there is no such stamp.
func (l *Lab) Time(at model.Stamp) (time.Duration, bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.stamps.Time(at)
}

// Finish has clients begin nothing more. They go on watching.
func (l *Lab) Finish() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.finished = true
}

func (l *Lab) over() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.finished
}

// value is one that nobody has written.
func (l *Lab) value() uint64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.values++
	return l.values
}

func (l *Lab) begin(op Operation) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	op.Call = l.stamps.Next()
	l.begun++
	l.open[l.begun] = &op
	return l.begun
}

// end closes an operation. One of unknown outcome has no end: it may take effect when nobody waits for it any more.
func (l *Lab) end(token int, outcome model.Outcome, fill func(*Operation)) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	op := l.open[token]
	if op == nil {
		return // its client died
	}
	delete(l.open, token)
	op.Outcome, op.Return = outcome, l.stamps.Next()
	if outcome == model.Unknown {
		op.Return = model.Never
	}
	if fill != nil {
		fill(op)
	}
	l.keep(op)
}

func (l *Lab) keep(op *Operation) {
	l.answers[op.Kind.String()+" "+op.Outcome.String()]++
	l.done = append(l.done, *op)
}

// Died ends what a client had under way when its process ended.
func (l *Lab) Died(client int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.looks, client)
	for token := 1; token <= l.begun; token++ {
		if op := l.open[token]; op != nil && op.By == client {
			delete(l.open, token)
			op.Outcome, op.Return = model.Unknown, model.Never
			l.keep(op)
		}
	}
}

// Open is how many operations are under way.
func (l *Lab) Open() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.open)
}

func (l *Lab) looked(look Look) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.looks[look.Client] = look
}

// Looks are what the clients that live have seen last of what they watch, by client.
func (l *Lab) Looks() map[int]Look {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return maps.Clone(l.looks)
}

// Operations are those that have ended, or never will, in the order of their ends.
func (l *Lab) Operations() []Operation { return l.done }

// Begun is how many operations were begun.
func (l *Lab) Begun() int64 { return int64(l.begun) }

// Answers counts outcomes, by "kind outcome".
func (l *Lab) Answers() map[string]int64 { return l.answers }

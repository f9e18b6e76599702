package agenda

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
)

// Op names one operation. Steps and parts count from 1.
type Op struct {
	Client int
	Step   int // of the client
	Part   int // of the step: most steps have one
}

// String is the name as it stands in files: client/step/part.
func (o Op) String() string { return fmt.Sprintf("%d/%d/%d", o.Client, o.Step, o.Part) }

// MarshalText writes what UnmarshalText reads.
func (o Op) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads "client/step/part".
func (o *Op) UnmarshalText(text []byte) error {
	var read Op
	n, err := fmt.Sscanf(string(text), "%d/%d/%d", &read.Client, &read.Step, &read.Part)
	if n != 3 || err != nil || read.String() != string(text) || read.Client < 0 || read.Step < 1 || read.Part < 1 {
		return fmt.Errorf("operation %q is not of the form client/step/part, such as 2/17/1", text)
	}
	*o = read
	return nil
}

// Agenda is what the clients of one trial are to do.
type Agenda struct {
	seed uint64

	mutex     sync.Mutex
	kept      map[Op]bool  // nil: everything is
	steps     map[Op]bool  // that have a part which is kept; their own part is zero
	clients   map[int]bool // that have a step which is kept
	taken     map[int]int  // by client, the steps that it has begun
	noting    bool
	performed []Op
}

// New makes an agenda that has every operation.
func New(seed uint64) *Agenda { return &Agenda{seed: seed, taken: map[int]int{}} }

// Keep leaves out all operations but these. It is called before any client begins.
func (a *Agenda) Keep(ops []Op) {
	a.kept, a.steps, a.clients = map[Op]bool{}, map[Op]bool{}, map[int]bool{}
	for _, o := range ops {
		a.kept[o] = true
		a.steps[Op{Client: o.Client, Step: o.Step}] = true
		a.clients[o.Client] = true
	}
}

// Note has the agenda write down what is done, for Performed. It is called before any client begins.
func (a *Agenda) Note() { a.noting = true }

// Performed lists the operations that were begun, in that order.
func (a *Agenda) Performed() []Op {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return slices.Clone(a.performed)
}

// Upcoming is the number of the client's next step.
func (a *Agenda) Upcoming(client int) int {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.taken[client] + 1
}

// Take begins the client's next step.
func (a *Agenda) Take(client int) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.taken[client]++
}

// Absent reports whether nothing that the client could do is kept. Others go on to the end, if only by pausing: with all
// that was performed kept, a world cannot tell the difference, unless a client never did anything.
func (a *Agenda) Absent(client int) bool { return a.kept != nil && !a.clients[client] }

// Wants reports whether any part of a step is kept.
func (a *Agenda) Wants(client, step int) bool {
	return a.kept == nil || a.steps[Op{Client: client, Step: step}]
}

// Does reports whether the operation is kept. Whoever asks then does it.
func (a *Agenda) Does(o Op) bool {
	if a.kept != nil && !a.kept[o] {
		return false
	}
	if a.noting {
		a.mutex.Lock()
		defer a.mutex.Unlock()
		a.performed = append(a.performed, o)
	}
	return true
}

// Stream is the random stream of a client: that of one operation after the other.
type Stream struct {
	*rand.Rand
	source *rand.PCG
	seed   uint64
}

// Stream makes the stream of a client. It stands at no operation's: at what a client draws beside its steps.
func (a *Agenda) Stream(client int) Stream {
	source := rand.NewPCG(0, 0)
	s := Stream{Rand: rand.New(source), source: source, seed: scramble(scramble(a.seed) ^ uint64(client))}
	s.Begin(0, 0)
	return s
}

// Begin goes to the beginning of the numbers of a part of a step. Part zero is what is drawn before the first part.
func (s *Stream) Begin(step, part int) {
	first := scramble(s.seed ^ uint64(step)<<20 ^ uint64(part))
	s.source.Seed(first, scramble(first))
}

// scramble is the finaliser of splitmix64: seeds that differ in one bit differ in half of all.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

package model

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// RegisterKind says what a session asks of one key of a metadata store.
type RegisterKind uint8

// The operations on a key.
const (
	RegisterCreate RegisterKind = iota + 1 // Value → Version
	RegisterPut                            // Expected, Value → Version
	RegisterDelete                         // Expected
	RegisterGet                            // → Value, Version
	RegisterSync                           // later gets of the session see all that was done before the call
)

func (k RegisterKind) String() string {
	names := [...]string{RegisterCreate: "create", RegisterPut: "put", RegisterDelete: "delete", RegisterGet: "get",
		RegisterSync: "sync"}
	if k == 0 || int(k) >= len(names) {
		return fmt.Sprintf("register kind %d", uint8(k))
	}
	return names[k]
}

// RegisterOp is one operation on the key. Outcome is OK; Found or NoEntry of a get; Fenced: refused by the condition
// (there already, not there, or another version); Failed: surely not done; Unknown: may have happened, or may happen
// until Return (Never: at any later time).
type RegisterOp struct {
	Call, Return Stamp
	Value        uint64
	Expected     MetadataVersion // NoVersion: unconditional
	Version      MetadataVersion // answered
	Client       ClientID        // the session
	Kind         RegisterKind
	Outcome      Outcome
}

// CheckRegister decides by search whether a history of one key has an explanation: writes take effect one after the
// other in real time, each on the version it expects; versions grow by one and start again at 0 after a delete and a
// create. If stale is set, a get may answer any state of the past, but to one session never one from before what that
// session has seen or done. It takes exponential time in the number of operations at once. porcupine.Unknown means that
// the limit was reached.
func CheckRegister(ops []RegisterOp, stale bool, limit time.Duration) porcupine.CheckResult {
	operations := make([]porcupine.Operation, 0, len(ops))
	for i := range ops {
		op := &ops[i]
		end := int64(op.Return)
		if op.Return == Never {
			end = math.MaxInt64
		}
		operations = append(operations, porcupine.Operation{ClientId: int(op.Client), Input: op, Call: int64(op.Call), Return: end})
	}
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{&register{past: []registerState{{}}}} },
		Step: func(state, input, _ any) []any {
			var next []any
			for _, r := range state.(*register).step(input.(*RegisterOp), stale) {
				next = append(next, r)
			}
			return next
		},
		Equal: func(a, b any) bool { return a.(*register).equal(b.(*register)) },
	}
	return porcupine.CheckOperationsTimeout(model.ToModel(), operations, limit)
}

// registerState is what the key holds.
type registerState struct {
	there   bool
	version MetadataVersion
	value   uint64
}

// register is all states the key has had, the newest last, and the oldest that each session may still see.
type register struct {
	past []registerState
	seen []sessionSeen
}

type sessionSeen struct {
	session ClientID
	from    int // index into past
}

func (r *register) equal(other *register) bool {
	return slices.Equal(r.past, other.past) && slices.Equal(r.seen, other.seen)
}

func (r *register) newest() registerState { return r.past[len(r.past)-1] }

// step lists the states after op; none if it cannot have happened.
func (r *register) step(op *RegisterOp, stale bool) []*register {
	switch op.Kind {
	case RegisterGet:
		return r.get(op, stale)
	case RegisterSync:
		if op.Outcome != OK {
			return []*register{r}
		}
		return []*register{r.saw(op.Client, len(r.past)-1)}
	}
	next, applies := r.write(op)
	switch op.Outcome {
	case OK:
		answered := op.Kind == RegisterDelete || applies && op.Version == next.newest().version
		if !applies || !answered {
			return nil
		}
		return []*register{next.saw(op.Client, len(next.past)-1)}
	case Fenced:
		if applies {
			return nil
		}
		return []*register{r.saw(op.Client, len(r.past)-1)}
	case Unknown:
		if applies {
			return []*register{r, next}
		}
	}
	return []*register{r}
}

// write is the register after op, and whether its condition holds.
func (r *register) write(op *RegisterOp) (*register, bool) {
	now := r.newest()
	next := registerState{there: true, value: op.Value}
	switch op.Kind {
	case RegisterCreate:
		if now.there {
			return r, false
		}
	case RegisterPut, RegisterDelete:
		if !now.there || op.Expected != NoVersion && op.Expected != now.version {
			return r, false
		}
		next.version = now.version + 1
		if op.Kind == RegisterDelete {
			next = registerState{}
		}
	}
	past := append(r.past[:len(r.past):len(r.past)], next)
	return &register{past, r.seen}, true
}

// saw is the register after a session has seen the state at index from.
func (r *register) saw(session ClientID, from int) *register {
	seen := make([]sessionSeen, 0, len(r.seen)+1)
	placed := false
	for _, s := range r.seen {
		if !placed && s.session >= session {
			placed = true
			if s.session == session {
				seen = append(seen, sessionSeen{session, max(from, s.from)})
				continue
			}
			seen = append(seen, sessionSeen{session, from})
		}
		seen = append(seen, s)
	}
	if !placed {
		seen = append(seen, sessionSeen{session, from})
	}
	return &register{r.past, seen}
}

// get lists what the session may have seen: each state that answers so, from the oldest it may still see.
func (r *register) get(op *RegisterOp, stale bool) []*register {
	if op.Outcome != Found && op.Outcome != NoEntry {
		return []*register{r}
	}
	from := 0
	for _, s := range r.seen {
		if s.session == op.Client {
			from = s.from
		}
	}
	if !stale {
		from = len(r.past) - 1
	}
	for k := from; k < len(r.past); k++ {
		s := r.past[k]
		if op.Outcome == NoEntry && !s.there || op.Outcome == Found && s == (registerState{true, op.Version, op.Value}) {
			return []*register{r.saw(op.Client, k)} // the oldest: it leaves most open for later
		}
	}
	return nil
}

package client

import (
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// Completion takes appends back. It is called once for each, in entry order of those that succeed, by the writer's task,
// which all appends of the ledger depend on: it must not wait, and must not call the writer.
type Completion interface{ Appended(*Op) }

// Op is one append and then its outcome. It may be used again once it has completed.
type Op struct {
	Done Completion

	// Entry is the id, if Err is nil or ErrOutcomeUnknown.
	Entry ledger.EntryID
	// Err is nil once the entry and all before it are durable on their ack quorums. With ErrOutcomeUnknown the entry may
	// become a part of the ledger, through whoever recovers it. With any other error it is not in the ledger and never
	// will be.
	Err error

	stored []byte // header, digest, payload; from host.Memory
	share  *share // not nil once lines to bookies need stored as well
	sealed bool
	posts  int64 // of the sender, when the entry was last gathered
}

// waiter lets one task wait for one append.
type waiter struct{ gate host.Gate }

func (w *waiter) Appended(*Op) { w.gate.Open() }

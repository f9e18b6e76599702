package model

import (
	"fmt"
	"math"
)

// LedgerID and EntryID name what an operation is about; both are not negative.
type (
	LedgerID int64
	EntryID  int64
)

// ClientID names the sequential caller of operations.
type ClientID int32

// Incarnation counts the starts of the bookie. An operation called while it is down carries the incarnation before.
type Incarnation int32

// Digest stands for the content of an entry: equal digests mean equal bytes.
type Digest uint64

// Stamp is a point in the one order of events of a history.
type Stamp int64

// Never is the return stamp of an operation of unknown outcome that may still take effect.
const Never Stamp = math.MaxInt64

// Kind says what an operation asks for.
type Kind uint8

// The operations of a bookie's store. The zero Kind is none of them, so that a forgotten field is found.
const (
	Add Kind = iota + 1
	Read
	ReadRange
	LastEntry
	Fence
	Delete
	List
	kindsEnd
)

// Outcome says how an operation ended, as its client saw it.
type Outcome uint8

// The outcomes. Limbo is an answer (the bookie refuses because it does not know the state of the ledger); Unknown is
// the lack of one (it may or may not have happened).
const (
	OK           Outcome = iota + 1 // add, fence, delete, list: done
	Found                           // reads: here it is
	NoEntry                         // reads: the ledger does not hold it
	NoLedger                        // the bookie does not have the ledger
	Fenced                          // refused: fenced, or fenced and deleted
	Unauthorized                    // refused: wrong master key
	Limbo                           // refused: the ledger's state is unknown after an unclean stop
	NoSpace                         // refused: disk full
	Failed                          // definitely not done
	Error                           // reads, list: no answer; fence, delete: failed, but it may have happened
	Unknown                         // outcome unknown to the client
	outcomesEnd
)

var kindNames = [kindsEnd]string{Add: "add", Read: "read", ReadRange: "read-range", LastEntry: "last-entry",
	Fence: "fence", Delete: "delete", List: "list"}

var outcomeNames = [outcomesEnd]string{OK: "ok", Found: "found", NoEntry: "no-entry", NoLedger: "no-ledger",
	Fenced: "fenced", Unauthorized: "unauthorized", Limbo: "unknown-state", NoSpace: "no-space", Failed: "failed",
	Error: "error", Unknown: "outcome-unknown"}

const readOutcomes = 1<<Found | 1<<NoEntry | 1<<NoLedger | 1<<Fenced | 1<<Unauthorized | 1<<Limbo | 1<<Error | 1<<Unknown

// legalOutcomes has a bit for each outcome that an operation of a kind may have.
var legalOutcomes = [kindsEnd]uint32{
	Add:  1<<OK | 1<<NoLedger | 1<<Fenced | 1<<Unauthorized | 1<<Limbo | 1<<NoSpace | 1<<Failed | 1<<Unknown,
	Read: readOutcomes, ReadRange: readOutcomes, LastEntry: readOutcomes,
	Fence:  1<<OK | 1<<Unauthorized | 1<<Limbo | 1<<Failed | 1<<Error | 1<<Unknown,
	Delete: 1<<OK | 1<<Failed | 1<<Error | 1<<Unknown,
	List:   1<<OK | 1<<Error | 1<<Unknown,
}

func (k Kind) String() string {
	if k == 0 || k >= kindsEnd {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return kindNames[k]
}

func (o Outcome) String() string {
	if o == 0 || o >= outcomesEnd {
		return fmt.Sprintf("outcome %d", uint8(o))
	}
	return outcomeNames[o]
}

// Op is one operation: what was asked, when, and how it ended. It is flat; the entries of a range answer and the
// ledgers of a list answer live in the History.
type Op struct {
	Call, Return                       Stamp
	Ledger                             LedgerID
	Entry                              EntryID // Add, Read: asked for; ReadRange: first asked for; LastEntry: answered
	Digest                             Digest  // Add: stored; Read, LastEntry: answered
	MaxBytes                           int64   // ReadRange: 0 is no limit
	answer                             span    // ReadRange: into History.items; List: into History.listed
	MaxCount                           int32   // ReadRange: 0 is no limit
	Client                             ClientID
	CallIncarnation, ReturnIncarnation Incarnation
	Kind                               Kind
	Outcome                            Outcome
	Recovery                           bool // Add: passes a fence
	Final                              bool // Read, ReadRange: asked after everything was healed and restarted
}

// span is a part of one of the history's shared slices.
type span struct{ from, count uint32 }

// Item is one entry of a range answer.
type Item struct {
	Entry  EntryID
	Digest Digest
	Bytes  int64
}

// mayTakeEffect says whether the operation changed the bookie or could have.
func (op *Op) mayTakeEffect() bool {
	switch op.Kind {
	case Add, Fence, Delete:
		return op.Outcome == OK || op.Outcome == Unknown || op.Outcome == Error
	}
	return false
}

// effectEnd is the last stamp at which the operation may take effect. An error answer does not say that the work
// behind it has stopped.
func (op *Op) effectEnd() Stamp {
	if op.Outcome == Error {
		return Never
	}
	return op.Return
}

// denies says whether a reading operation claims that what it asked for is not there.
func (op *Op) denies() bool {
	switch op.Kind {
	case Read, ReadRange, LastEntry:
		return op.Outcome == NoEntry || op.Outcome == NoLedger || op.Outcome == Fenced
	}
	return false
}

// deniesLedger says whether a reading operation claims that there is no such ledger.
func (op *Op) deniesLedger() bool { return op.denies() && op.Outcome != NoEntry }

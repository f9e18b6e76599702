package wire

import "fmt"

// Code is the outcome that a response carries.
type Code int32

// The codes of version 2. UnknownLedgerState means that a bookie cannot prove that it never had what was asked for; the
// Java client's version 2 decoder does not know it and closes its connection.
const (
	OK                 Code = 0
	NoLedger           Code = 1
	NoEntry            Code = 2
	BadRequest         Code = 100
	IOError            Code = 101
	Unauthorized       Code = 102
	BadVersion         Code = 103
	Fenced             Code = 104
	ReadOnly           Code = 105
	TooManyRequests    Code = 106
	UnknownLedgerState Code = 107
)

func (c Code) String() string {
	switch c {
	case OK:
		return "ok"
	case NoLedger:
		return "no such ledger"
	case NoEntry:
		return "no such entry"
	case BadRequest:
		return "bad request"
	case IOError:
		return "input/output error"
	case Unauthorized:
		return "unauthorized"
	case BadVersion:
		return "bad version"
	case Fenced:
		return "ledger is fenced"
	case ReadOnly:
		return "bookie is read-only"
	case TooManyRequests:
		return "too many requests"
	case UnknownLedgerState:
		return "unknown ledger state"
	}
	return fmt.Sprintf("code %d", int32(c))
}

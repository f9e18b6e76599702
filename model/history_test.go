package model

import (
	"errors"
	"testing"
)

// TestValidateRefusesWhatNoRecorderMayWrite: each history is wrong in one field; its neighbour is right.
func TestValidateRefusesWhatNoRecorderMayWrite(t *testing.T) {
	good := Op{Kind: Add, Outcome: OK, Call: 1, Return: 2, CallIncarnation: 1, ReturnIncarnation: 1}
	if err := (&History{Ops: []Op{good}}).Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(op *Op){
		"no kind":               func(op *Op) { op.Kind = 0 },
		"unheard-of kind":       func(op *Op) { op.Kind = kindsEnd },
		"no outcome":            func(op *Op) { op.Outcome = 0 },
		"unheard-of outcome":    func(op *Op) { op.Outcome = outcomesEnd },
		"outcome of a read":     func(op *Op) { op.Outcome = Found },
		"return before call":    func(op *Op) { op.Return = 0 },
		"no call":               func(op *Op) { op.Call, op.Return, op.Outcome = Never, Never, Unknown },
		"ok but never returned": func(op *Op) { op.Return = Never },
		"incarnation goes back": func(op *Op) { op.ReturnIncarnation = 0 },
		"negative ledger":       func(op *Op) { op.Ledger = -1 },
		"negative entry":        func(op *Op) { op.Entry = -1 },
		"negative count":        func(op *Op) { op.MaxCount = -1 },
		"negative bytes":        func(op *Op) { op.MaxBytes = -1 },
		"recovery fence":        func(op *Op) { op.Kind, op.Recovery = Fence, true },
		"final add":             func(op *Op) { op.Final = true },
		"answer of an add":      func(op *Op) { op.answer.count = 1 },
	} {
		op := good
		spoil(&op)
		if err := (&History{Ops: []Op{op}}).Validate(); !errors.Is(err, ErrHistory) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for name, e := range map[string]Event{
		"no kind":              {At: 1},
		"unheard-of kind":      {At: 1, Kind: eventsEnd},
		"crash of a ledger":    {At: 1, Kind: Crash, Ledger: 7},
		"negative ledger":      {At: 1, Kind: Damage, Ledger: -2},
		"negative entry":       {At: 1, Kind: Damage, Entry: -2},
		"an entry of anything": {At: 1, Kind: Damage, Ledger: AnyLedger, Entry: 3},
	} {
		if err := (&History{Events: []Event{e}}).Validate(); !errors.Is(err, ErrHistory) {
			t.Errorf("event, %s: error %v", name, err)
		}
	}
}

// TestValidateRefusesLogsNoRecorderMayWrite: as above, for logs.
func TestValidateRefusesLogsNoRecorderMayWrite(t *testing.T) {
	good := LogOp{Kind: LogTail, Outcome: OK, Call: 1, Return: 2, Length: 3}
	if err := (&LogHistory{Ops: []LogOp{good}}).Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(op *LogOp){
		"no kind":               func(op *LogOp) { op.Kind = 0 },
		"unheard-of kind":       func(op *LogOp) { op.Kind = logKindsEnd },
		"outcome of a bookie":   func(op *LogOp) { op.Outcome = Fenced },
		"return before call":    func(op *LogOp) { op.Return = 0 },
		"ok but never returned": func(op *LogOp) { op.Return = Never },
		"negative offset":       func(op *LogOp) { op.Offset = -1 },
		"negative length":       func(op *LogOp) { op.Length = -2 },
		"tail without a length": func(op *LogOp) { op.Length = NoLength },
		"endless":               func(op *LogOp) { op.Length = logLengthMax + 1 },
		"values of a tail":      func(op *LogOp) { op.values.count = 1 },
	} {
		op := good
		spoil(&op)
		if err := (&LogHistory{Ops: []LogOp{op}}).Validate(); !errors.Is(err, ErrHistory) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

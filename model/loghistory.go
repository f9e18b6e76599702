package model

import (
	"errors"
	"fmt"
)

// LogKind says what an operation asks of a log.
type LogKind uint8

// The operations of a log.
const (
	LogAppend    LogKind = iota + 1 // Value → Offset
	LogTail                         // → Length
	LogRead                         // Offset → values from there, Length if the log tells it
	LogClose                        // → Length, final
	LogConfirmed                    // → Length that is safe to read; may lag behind
	logKindsEnd
)

var logKindNames = [logKindsEnd]string{LogAppend: "append", LogTail: "tail", LogRead: "read", LogClose: "close",
	LogConfirmed: "confirmed-length read"}

func (k LogKind) String() string {
	if k == 0 || k >= logKindsEnd {
		return fmt.Sprintf("log kind %d", uint8(k))
	}
	return logKindNames[k]
}

// logLengthMax keeps the arithmetic on lengths far from overflow.
const logLengthMax = 1 << 60

// NoLength is the Length of a read that answers values only.
const NoLength int64 = -1

// LogOp is one operation on a log. Outcome is OK, Failed (definitely not done) or Unknown; a failed or unknown
// operation other than an append says nothing. An append of unknown outcome may happen at any later time.
type LogOp struct {
	Call, Return Stamp
	Value        uint64 // LogAppend
	Offset       int64  // LogAppend: where it went; LogRead: where it begins
	Length       int64  // all others: what was answered
	values       span   // LogRead: into LogHistory.values
	Client       ClientID
	Kind         LogKind
	Outcome      Outcome
}

// LogHistory is what the clients of one append-only log saw, in any order. Each append has a value of its own.
type LogHistory struct {
	Ops []LogOp
	// AtLeastOnce: the log may hold a value more than once. Duplicates then counts them.
	AtLeastOnce bool

	values []uint64 // answers of reads
}

// Append adds an operation other than a read.
func (h *LogHistory) Append(op LogOp) {
	op.values = span{}
	h.Ops = append(h.Ops, op)
}

// AppendRead adds a LogRead with its answer, which is copied.
func (h *LogHistory) AppendRead(op LogOp, values []uint64) {
	op.values = span{uint32(len(h.values)), uint32(len(values))}
	h.values = append(h.values, values...)
	h.Ops = append(h.Ops, op)
}

// Values is the answer of the read at index i of Ops.
func (h *LogHistory) Values(i int) []uint64 {
	s := h.Ops[i].values
	return h.values[s.from:][:s.count:s.count]
}

// Validate says what is wrong with the history itself, wrapped in ErrHistory.
func (h *LogHistory) Validate() error {
	_, err := h.appends()
	return err
}

// appends finds the append of each value, and what is wrong with the history on the way.
func (h *LogHistory) appends() (map[uint64]int32, error) {
	appends := make(map[uint64]int32, len(h.Ops))
	for i := range h.Ops {
		op := &h.Ops[i]
		if err := op.validate(); err != nil {
			return nil, fmt.Errorf("%w: operation %d: %w", ErrHistory, i, err)
		}
		if op.Kind != LogAppend {
			continue
		}
		appends[op.Value] = int32(i)
	}
	return appends, h.findTwice(appends)
}

// findTwice complains about an append that is not the one found for its value.
func (h *LogHistory) findTwice(appends map[uint64]int32) error {
	count := 0
	for i := range h.Ops {
		if h.Ops[i].Kind == LogAppend {
			count++
		}
	}
	if count == len(appends) {
		return nil
	}
	for i := range h.Ops {
		if op := &h.Ops[i]; op.Kind == LogAppend && appends[op.Value] != int32(i) {
			return fmt.Errorf("%w: operations %d and %d append the same value", ErrHistory, i, appends[op.Value])
		}
	}
	return nil
}

func (op *LogOp) validate() error {
	switch {
	case op.Kind == 0 || op.Kind >= logKindsEnd:
		return fmt.Errorf("no such kind: %s", op.Kind)
	case op.Outcome != OK && op.Outcome != Failed && op.Outcome != Unknown:
		return fmt.Errorf("%s cannot end with %s", op.Kind, op.Outcome)
	case op.Call == Never || op.Return < op.Call:
		return fmt.Errorf("call at %d, return at %d", op.Call, op.Return)
	case op.Return == Never && op.Outcome != Unknown:
		return fmt.Errorf("%s without a return stamp", op.Outcome)
	case op.Offset < 0 || op.Length < NoLength:
		return errors.New("negative offset or length")
	case op.Offset > logLengthMax || op.Length > logLengthMax:
		return errors.New("offset or length beyond what a log can hold")
	case op.Length == NoLength && op.Kind != LogRead && op.Kind != LogAppend:
		return fmt.Errorf("%s without a length", op.Kind)
	case op.values.count > 0 && (op.Kind != LogRead || op.Outcome != OK):
		return fmt.Errorf("%s ended with %s and has values", op.Kind, op.Outcome)
	}
	return nil
}

// describe puts the operation at index i in words.
func (h *LogHistory) describe(i int) string {
	op := &h.Ops[i]
	what := fmt.Sprintf("client %d's %s", op.Client, op.Kind)
	switch op.Kind {
	case LogAppend:
		what += fmt.Sprintf(" of value %d", op.Value)
	case LogRead:
		what += fmt.Sprintf(" of %d values from offset %d", op.values.count, op.Offset)
	}
	if op.Outcome != OK {
		return fmt.Sprintf("%s (operation %d, called at %d, %s)", what, i, op.Call, op.Outcome)
	}
	answer := fmt.Sprintf("length %d", op.Length)
	if op.Kind == LogAppend {
		answer = fmt.Sprintf("offset %d", op.Offset)
	}
	return fmt.Sprintf("%s (operation %d, called at %d, returned at %d, %s)", what, i, op.Call, op.Return, answer)
}

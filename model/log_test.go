package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// TestEveryWrongLogIsAccusedOfThatWrongAlone: as for bookies. The lines of a scenario say what was asked and answered.
func TestEveryWrongLogIsAccusedOfThatWrongAlone(t *testing.T) {
	text, err := os.ReadFile("testdata/log.txt")
	if err != nil {
		t.Fatal(err)
	}
	name, h := "", &LogHistory{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case strings.HasPrefix(line, "# "):
			name = strings.TrimPrefix(line, "# ")
		case line == "at least once":
			h.AtLeastOnce = true
		case strings.HasPrefix(line, "== "):
			want, history := strings.TrimPrefix(line, "== "), h
			t.Run(name, func(t *testing.T) { judgeLog(t, history, want) })
			h = &LogHistory{}
		default:
			if err := h.scan(strings.Fields(line)); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
	}
}

func judgeLog(t *testing.T, h *LogHistory, want string) {
	var got []string
	for _, v := range CheckLog(h) {
		_, rule, _ := strings.Cut(v.Signature, ": ")
		got = append(got, rule)
	}
	if len(got) == 0 {
		got = []string{"ok"}
	}
	if joined := strings.Join(got, " & "); joined != want {
		t.Errorf("verdict %q, want %q", joined, want)
	}
}

func (h *LogHistory) scan(words []string) error {
	op := LogOp{Outcome: OK, Length: NoLength}
	if _, err := fmt.Sscanf(words[0], "%d-%d", &op.Call, &op.Return); err != nil {
		return err
	}
	for k := LogAppend; k < logKindsEnd; k++ {
		if strings.HasPrefix(k.String(), words[1]) {
			op.Kind = k
		}
	}
	if k := slices.Index(words, "by"); k > 0 {
		fmt.Sscan(words[k+1], &op.Client)
		words = words[:k]
	}
	if k := slices.Index(words, "of"); k > 0 {
		fmt.Sscan(words[k+1], &op.Length)
		words = words[:k]
	}
	number, err := strconv.ParseInt(words[2], 10, 64)
	switch op.Kind {
	case LogAppend:
		op.Value = uint64(number)
		switch words[3] {
		case "failed":
			op.Outcome = Failed
		case "?":
			op.Outcome = Unknown
		default:
			_, err = fmt.Sscan(words[4], &op.Offset)
		}
	case LogRead:
		op.Offset = number
		var values []uint64
		for _, word := range words[3:] {
			var value uint64
			fmt.Sscan(word, &value)
			values = append(values, value)
		}
		h.AppendRead(op, values)
		return err
	default:
		op.Length = number
	}
	h.Append(op)
	return err
}

// TestDuplicatesAreCountedWhereTheyAreAllowed: each place at which a value stands again counts once.
func TestDuplicatesAreCountedWhereTheyAreAllowed(t *testing.T) {
	h := &LogHistory{AtLeastOnce: true}
	h.Append(LogOp{Call: 1, Return: 2, Kind: LogAppend, Outcome: OK, Value: 10, Offset: 0})
	h.AppendRead(LogOp{Call: 3, Return: 4, Kind: LogRead, Outcome: OK, Length: 3}, []uint64{10, 10, 10})
	h.AppendRead(LogOp{Call: 3, Return: 4, Kind: LogRead, Outcome: OK, Length: 3, Offset: 1}, []uint64{10, 10})
	if n := h.Duplicates(); n != 2 {
		t.Errorf("%d duplicates, want 2", n)
	}
	if found := CheckLog(h); len(found) > 0 {
		t.Errorf("accused: %v", found)
	}
}

// logState is the log of the search: its values as text, and whether it is closed.
type logState struct {
	values string
	closed bool
	told   [2]int64 // of the two readers of the confirmed length
}

// logModel states the log as a state machine, to hold the sweep against.
func logModel(h *LogHistory) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return logState{} },
		Step: func(state, input, _ any) (bool, any) {
			s, i := state.(logState), input.(int)
			op, length := &h.Ops[i], int64(len(s.values))
			switch {
			case op.Kind == LogAppend && op.Outcome == Unknown && s.closed:
				return true, s
			case op.Kind == LogAppend:
				next := logState{values: s.values + string(rune(op.Value)), told: s.told}
				return !s.closed && (op.Outcome == Unknown || op.Offset == length), next
			case op.Kind == LogClose:
				return op.Length == length, logState{s.values, true, s.told}
			case op.Kind == LogConfirmed:
				told := s.told[op.Client]
				s.told[op.Client] = op.Length
				return op.Length <= length && op.Length >= told, s
			case op.Kind == LogTail:
				return op.Length == length, s
			}
			values := h.Values(i)
			if op.Length != NoLength && op.Length != length || op.Offset+int64(len(values)) > length && len(values) > 0 {
				return false, s
			}
			for k, value := range values {
				if s.values[op.Offset+int64(k)] != byte(value) {
					return false, s
				}
			}
			return true, s
		},
	}
}

// TestSweepAndSearchAgree: the sweep accuses exactly the histories that no order of operations explains.
func TestSweepAndSearchAgree(t *testing.T) {
	var right, wrong int
	for seed := range uint64(max(10_000, *crossChecked)) {
		random := rand.New(rand.NewPCG(seed, 2))
		h := randomLog(random)
		if seed%4 != 0 {
			for range 6 + random.IntN(6) {
				mutateLog(random, h)
			}
		}
		if h.Validate() != nil {
			continue
		}
		var operations []porcupine.Operation
		for i := range h.Ops {
			op := &h.Ops[i]
			end := int64(op.Return)
			if op.Outcome == Unknown {
				end = math.MaxInt64
			}
			operations = append(operations, porcupine.Operation{ClientId: int(op.Client), Input: i,
				Call: int64(op.Call), Return: end})
		}
		search, fast := porcupine.CheckOperationsTimeout(logModel(h), operations, time.Second), CheckLog(h)
		if search == porcupine.Ok {
			right++
		} else if search == porcupine.Illegal {
			wrong++
		}
		if search != porcupine.Unknown && (search == porcupine.Ok) != (len(fast) == 0) {
			t.Fatalf("seed %d: search says %s, sweep says %v; %+v %v", seed, search, fast, h.Ops, h.values)
		}
	}
	t.Logf("%d right, %d wrong", right, wrong)
	if wrong*10 < (right+wrong)*3 || right*10 < (right+wrong)*3 {
		t.Errorf("a weak comparison: %d right, %d wrong", right, wrong)
	}
}

// randomLog makes a history of a log that is right by construction: every operation takes effect at a moment of its
// own, somewhere between call and return.
func randomLog(random *rand.Rand) *LogHistory {
	h, log, closed, told := &LogHistory{}, []uint64{}, false, [2]int64{}
	for i := range 4 + random.IntN(10) {
		at := Stamp(10 * (i + 1))
		op := LogOp{Call: at - Stamp(random.IntN(16)), Return: at + Stamp(random.IntN(16)), Client: ClientID(i),
			Outcome: OK, Length: int64(len(log))}
		switch n := random.IntN(20); {
		case n < 10 && !closed:
			op.Kind, op.Value, op.Offset, op.Length = LogAppend, uint64(i+1), int64(len(log)), 0
			happens := true
			if random.IntN(4) == 0 {
				op.Outcome, op.Offset, happens = Unknown, 0, random.IntN(2) == 0
			}
			if happens {
				log = append(log, op.Value)
			}
			h.Append(op)
		case n < 12 && !closed || n < 3:
			op.Kind, op.Client = LogConfirmed, ClientID(random.IntN(2))
			op.Length = max(op.Length-int64(random.IntN(3)), told[op.Client])
			told[op.Client] = op.Length
			h.Append(op)
		case n < 14 || closed && n < 18:
			op.Kind = LogTail
			h.Append(op)
		case n < 19:
			op.Kind, op.Offset = LogRead, int64(random.IntN(len(log)+1))
			values := log[op.Offset:]
			values = values[:random.IntN(len(values)+1)]
			if random.IntN(3) == 0 {
				op.Length = NoLength
			}
			h.AppendRead(op, values)
		default:
			op.Kind, closed = LogClose, true
			h.Append(op)
		}
	}
	return h
}

func mutateLog(random *rand.Rand, h *LogHistory) {
	op := &h.Ops[random.IntN(len(h.Ops))]
	switch random.IntN(5) {
	case 0:
		op.Return = op.Call
	case 1:
		op.Offset = max(op.Offset+int64(random.IntN(3))-1, 0)
	case 2:
		if op.Kind != LogAppend {
			op.Length = max(op.Length+int64(random.IntN(3))-1, 0)
		}
	case 3:
		shift := Stamp(random.IntN(60) - 30)
		op.Call, op.Return = op.Call+shift, op.Return+shift
	case 4:
		if op.values.count > 1 {
			op.values = span{op.values.from + 1, op.values.count - 1}
		}
	}
}

package calls

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ErrTrace says that a line is none of strace's.
var ErrTrace = errors.New("not a trace that is understood")

// lineBytesMax bounds a line: a call with its longest vectors, each byte printed as four.
const lineBytesMax = 64 << 20

// Line is a place in a trace, and its clock.
type Line int

// Call is one call that returned.
type Call struct {
	PID    int    // of the thread
	Name   string // of the system call
	FD     int
	Target string // what the descriptor stands for: a path, or "TCP:[from->to]"
	Data   []byte // what was handed over, as much of it as was printed
	Cut    bool   // more was handed over than was printed
	Result int64
	Begin  Line
	End    Line
	Time   string // of day, at the begin
}

// pending is a call that was entered and has not returned.
type pending struct {
	text  string
	begin Line
	time  string
}

// Parse reads a trace. Calls come in the order in which they returned. Calls that never returned are left out, and so are
// those that are not about a descriptor.
func Parse(r io.Reader) ([]Call, error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 0, 64<<10), lineBytesMax)
	open := map[int]pending{} // by thread
	var calls []Call
	for at := Line(1); scanner.Scan(); at++ {
		call, ok, err := parseLine(scanner.Text(), at, open)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", at, err)
		}
		if ok {
			calls = append(calls, call)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("read a trace: %w", err)
	}
	return calls, nil
}

const (
	unfinished = "<unfinished ...>"
	resumed    = " resumed>"
)

// parseLine understands one line: "PID TIME CALL".
func parseLine(line string, at Line, open map[int]pending) (call Call, ok bool, err error) {
	number, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	pid, err := strconv.Atoi(number)
	if err != nil {
		return call, false, fmt.Errorf("%w: %.80q", ErrTrace, line)
	}
	time, text, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	p := pending{text: text, begin: at, time: time}
	switch {
	case strings.HasPrefix(text, "+++"), strings.HasPrefix(text, "---"):
		return call, false, nil // the end of a thread, or a signal
	case strings.HasPrefix(text, "<... "):
		_, tail, found := strings.Cut(text, resumed)
		before, known := open[pid]
		if !found || !known {
			return call, false, fmt.Errorf("%w: %.80q resumes nothing", ErrTrace, line)
		}
		delete(open, pid)
		p = before
		p.text += tail
	}
	if begun, found := strings.CutSuffix(p.text, unfinished); found {
		p.text = begun
		open[pid] = p
		return call, false, nil
	}
	call, ok, err = parseCall(p.text)
	call.PID, call.Begin, call.End, call.Time = pid, p.begin, at, p.time
	return call, ok, err
}

// parseCall understands "name(descriptor<target>, …) = result". Not ok: it has not returned, or is not about a descriptor.
func parseCall(text string) (call Call, ok bool, err error) {
	name, rest, found := strings.Cut(text, "(")
	end := strings.LastIndex(rest, ") = ")
	if end < 0 {
		end = strings.LastIndex(rest, ")")
	}
	_, result, returned := strings.Cut(rest[max(end, 0):], "= ")
	if !found || end < 0 || !returned {
		return call, false, fmt.Errorf("%w: %.80q", ErrTrace, text)
	}
	number := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if number < 1 || strings.HasPrefix(strings.TrimSpace(result), "?") {
		return call, false, nil
	}
	call.Name = name
	if call.FD, err = strconv.Atoi(rest[:number]); err != nil {
		return call, false, fmt.Errorf("%w: descriptor: %w", ErrTrace, err)
	}
	arguments := rest[number:end]
	if call.Target, arguments, err = parseTarget(arguments); err != nil {
		return call, false, err
	}
	if call.Data, call.Cut, err = parseData(arguments); err != nil {
		return call, false, err
	}
	digits := strings.IndexFunc(result, func(r rune) bool { return r != '-' && (r < '0' || r > '9') })
	if digits < 0 {
		digits = len(result)
	}
	if call.Result, err = strconv.ParseInt(result[:digits], 10, 64); err != nil {
		return call, false, fmt.Errorf("%w: result %.40q", ErrTrace, result)
	}
	if taken := max(call.Result, 0); int64(len(call.Data)) > taken {
		call.Data = call.Data[:taken] // the kernel took no more
	}
	return call, true, nil
}

// parseTarget reads "<target>" behind a descriptor. Paths are printed in hexadecimal, sockets as they are.
func parseTarget(text string) (target, rest string, err error) {
	inside, found := strings.CutPrefix(text, "<")
	if !found {
		return "", text, nil
	}
	mark := ">"
	if !strings.HasPrefix(inside, `\x`) && strings.Contains(inside, "]>") {
		mark = "]>" // "TCP:[from->to]"
	}
	target, rest, found = strings.Cut(inside, mark)
	if !found {
		return "", "", fmt.Errorf("%w: %.80q", ErrTrace, text)
	}
	if mark == "]>" {
		return target + "]", rest, nil
	}
	decoded, err := decode(target)
	return string(decoded), rest, err
}

// parseData joins the strings among a call's arguments, which are the buffers of a gather.
func parseData(text string) (data []byte, cut bool, err error) {
	for {
		_, behind, found := strings.Cut(text, `"`)
		if !found {
			return data, cut, nil
		}
		var printed string
		if printed, text, found = strings.Cut(behind, `"`); !found {
			return nil, false, fmt.Errorf("%w: a string without an end", ErrTrace)
		}
		bytes, err := decode(printed)
		if err != nil {
			return nil, false, err
		}
		data = append(data, bytes...)
		if strings.HasPrefix(text, "...") {
			return data, true, nil // what follows is not where it seems to be
		}
	}
}

// decode reads what -xx printed. What was not escaped stays as it is.
func decode(printed string) ([]byte, error) {
	if !strings.Contains(printed, `\`) {
		return []byte(printed), nil
	}
	digits := bytes.ReplaceAll([]byte(printed), []byte(`\x`), nil)
	if len(digits)*2 != len(printed) {
		return nil, fmt.Errorf("%w: %.40q is not hexadecimal; strace needs -xx", ErrTrace, printed)
	}
	decoded := make([]byte, hex.DecodedLen(len(digits)))
	if _, err := hex.Decode(decoded, digits); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTrace, err)
	}
	return decoded, nil
}

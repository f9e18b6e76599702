package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// The format: one JSON object a line, no blank lines, each line exactly as this file would write it (order of keys, no
// spaces, nothing that is zero). Digests are 16 hexadecimal digits, since numbers of 64 bits do not survive every
// JSON reader. A missing "return" is Never.
//
//	{"history":"bookie","version":1}
//	{"event":"crash","at":50}
//	{"event":"damage","at":60,"ledger":7,"entry":-1}
//	{"op":"add","outcome":"ok","client":1,"call":10,"return":12,"lives":[1,1],"ledger":7,"entry":3,"digest":"00000000000000aa"}
//	{"op":"read-range","outcome":"found",…,"maxCount":10,"maxBytes":4096,"items":[[3,"00000000000000aa",100]]}
//	{"op":"list","outcome":"ok",…,"ledgers":[7]}

// lineMaxBytes bounds a line: a range answer of a quarter of a million entries fits.
const lineMaxBytes = 16 << 20

const historyHeader = `{"history":"bookie","version":1}`

// WriteHistory writes h as JSON lines.
func WriteHistory(w io.Writer, h *History) error {
	if err := h.Validate(); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	out := bufio.NewWriterSize(w, 64<<10)
	out.WriteString(historyHeader + "\n") // errors stick to the writer; Flush returns the first
	var line []byte
	for _, e := range h.Events {
		line = append(appendEvent(line[:0], e), '\n')
		out.Write(line)
	}
	for i := range h.Ops {
		line = append(h.appendOp(line[:0], i), '\n')
		out.Write(line)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

func appendEvent(b []byte, e Event) []byte {
	b = append(b, `{"event":"`...)
	b = append(b, e.Kind.String()...)
	b = append(b, `","at":`...)
	b = strconv.AppendInt(b, int64(e.At), 10)
	b = appendNumber(b, "ledger", int64(e.Ledger))
	b = appendNumber(b, "entry", int64(e.Entry))
	return append(b, '}')
}

func (h *History) appendOp(b []byte, i int) []byte {
	op := &h.Ops[i]
	b = append(b, `{"op":"`...)
	b = append(b, op.Kind.String()...)
	b = append(b, `","outcome":"`...)
	b = append(b, op.Outcome.String()...)
	b = append(b, '"')
	b = appendNumber(b, "client", int64(op.Client))
	b = append(b, `,"call":`...)
	b = strconv.AppendInt(b, int64(op.Call), 10)
	if op.Return != Never {
		b = append(b, `,"return":`...)
		b = strconv.AppendInt(b, int64(op.Return), 10)
	}
	b = append(b, `,"lives":[`...)
	b = strconv.AppendInt(b, int64(op.CallIncarnation), 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(op.ReturnIncarnation), 10)
	b = append(b, ']')
	b = appendNumber(b, "ledger", int64(op.Ledger))
	b = appendNumber(b, "entry", int64(op.Entry))
	if op.Digest != 0 {
		b = append(b, `,"digest":`...)
		b = appendDigest(b, op.Digest)
	}
	b = appendTrue(b, "recovery", op.Recovery)
	b = appendTrue(b, "final", op.Final)
	b = appendNumber(b, "maxCount", int64(op.MaxCount))
	b = appendNumber(b, "maxBytes", op.MaxBytes)
	b = appendItems(b, h.Items(i))
	b = appendLedgers(b, h.Listed(i))
	return append(b, '}')
}

func appendNumber(b []byte, key string, n int64) []byte {
	if n == 0 {
		return b
	}
	b = append(append(append(b, `,"`...), key...), `":`...)
	return strconv.AppendInt(b, n, 10)
}

func appendTrue(b []byte, key string, set bool) []byte {
	if !set {
		return b
	}
	return append(append(append(b, `,"`...), key...), `":true`...)
}

func appendDigest(b []byte, d Digest) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	for shift := 60; shift >= 0; shift -= 4 {
		b = append(b, digits[d>>shift&15])
	}
	return append(b, '"')
}

func appendItems(b []byte, items []Item) []byte {
	if len(items) == 0 {
		return b
	}
	b = append(b, `,"items":`...)
	for k, item := range items {
		b = append(append(b, "[,"[min(k, 1)]), '[')
		b = strconv.AppendInt(b, int64(item.Entry), 10)
		b = appendDigest(append(b, ','), item.Digest)
		b = strconv.AppendInt(append(b, ','), item.Bytes, 10)
		b = append(b, ']')
	}
	return append(b, ']')
}

func appendLedgers(b []byte, ledgers []LedgerID) []byte {
	if len(ledgers) == 0 {
		return b
	}
	b = append(b, `,"ledgers":`...)
	for k, id := range ledgers {
		b = strconv.AppendInt(append(b, "[,"[min(k, 1)]), int64(id), 10)
	}
	return append(b, ']')
}

// ReadHistory reads what WriteHistory wrote, and nothing else. Errors name the line and wrap ErrHistory, or are those
// of r.
func ReadHistory(r io.Reader) (*History, error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), lineMaxBytes)
	h := &History{}
	number := 0
	for in.Scan() {
		number++
		if err := h.readLine(number, in.Bytes()); err != nil {
			return nil, fmt.Errorf("read history, line %d: %w: %w", number, ErrHistory, err)
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("read history, line %d: %w: longer than %d bytes", number+1, ErrHistory, lineMaxBytes)
	case err != nil:
		return nil, fmt.Errorf("read history, line %d: %w", number+1, err)
	case number == 0:
		return nil, fmt.Errorf("read history: %w: it is empty", ErrHistory)
	}
	if err := h.Validate(); err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return h, nil
}

func (h *History) readLine(number int, line []byte) error {
	if number == 1 {
		if string(line) != historyHeader {
			return fmt.Errorf("the first line must be %s", historyHeader)
		}
		return nil
	}
	var l jsonLine
	if err := json.Unmarshal(line, &l); err != nil {
		return err
	}
	var again []byte
	switch {
	case l.Event != "":
		event, err := l.event()
		if err != nil {
			return err
		}
		h.Event(event)
		again = appendEvent(nil, event)
	default:
		if err := l.appendTo(h); err != nil {
			return err
		}
		again = h.appendOp(nil, len(h.Ops)-1)
	}
	// The comparison refuses unknown keys, keys given twice, spaces, zeros spelled out, and all else the JSON package lets
	// pass: two different files never mean the same history.
	if !bytes.Equal(line, again) {
		return fmt.Errorf("not in the form it would be written in, which is %.300s", again)
	}
	return nil
}

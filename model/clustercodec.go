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

// The format of cluster histories, by the rules of codec.go: one JSON object a line, each exactly as this file would
// write it. Kinds of lines come in this order, and within a kind as they were recorded.
//
//	{"history":"cluster","version":1}
//	{"damage":"bookie-0:3181","at":60,"ledger":-1,"entry":-1}
//	{"metadata":"open","at":3,"ledger":7,"version":0,"expected":-1,"quorum":[3,3,2],"fragments":[[0,"bookie-0:3181",…]]}
//	{"metadata":"closed","at":90,…,"last":4,"length":500,"fragments":[…]}
//	{"notice":"acked","at":12,"ledger":7,"entry":3,"client":1,"writer":2,"by":["bookie-0:3181","bookie-1:3181"]}
//	{"op":"append","outcome":"ok","client":1,"handle":2,"call":10,"return":13,"ledger":7,"entry":3,"digest":"00000000000000aa","length":100}
//	{"op":"batch-read","outcome":"found",…,"bound":9,"maxCount":10,"maxBytes":4096,"items":[[3,"00000000000000aa",100]]}
//	{"holding":"found","node":"bookie-0:3181","ledger":7,"entry":3,"digest":"00000000000000aa"}

const (
	clusterHeader      = `{"history":"cluster","version":1}`
	clusterHeaderStale = `{"history":"cluster","version":1,"staleMetadata":true}`
)

// WriteClusterHistory writes h as JSON lines.
func WriteClusterHistory(w io.Writer, h *ClusterHistory) error {
	if err := h.Validate(); err != nil {
		return fmt.Errorf("write cluster history: %w", err)
	}
	out := bufio.NewWriterSize(w, 64<<10)
	var line []byte
	for k := range h.lines() {
		line = append(h.appendLine(line[:0], k), '\n')
		out.Write(line) // errors stick to the writer; Flush returns the first
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write cluster history: %w", err)
	}
	return nil
}

// clusterLines counts the lines of a file.
type clusterLines int

func (h *ClusterHistory) lines() clusterLines {
	return clusterLines(1 + len(h.Damages) + len(h.Metadata) + len(h.Notices) + len(h.Ops) + len(h.Holdings))
}

// appendLine writes the line of that number, counted from 0.
func (h *ClusterHistory) appendLine(b []byte, line clusterLines) []byte {
	k := int(line)
	if k == 0 {
		if h.StaleMetadata {
			return append(b, clusterHeaderStale...)
		}
		return append(b, clusterHeader...)
	}
	k--
	if k < len(h.Damages) {
		return h.appendDamage(b, k)
	}
	k -= len(h.Damages)
	if k < len(h.Metadata) {
		return h.appendWrite(b, k)
	}
	k -= len(h.Metadata)
	if k < len(h.Notices) {
		return h.appendNotice(b, k)
	}
	k -= len(h.Notices)
	if k < len(h.Ops) {
		return h.appendOp(b, k)
	}
	return h.appendHolding(b, k-len(h.Ops))
}

// appendFirst begins a line; its first value is a name that needs no escaping.
func appendFirst(b []byte, key, name string) []byte {
	b = append(append(append(b, `{"`...), key...), `":"`...)
	return append(append(b, name...), '"')
}

// appendStamp writes a number that is there even if it is zero.
func appendStamp(b []byte, key string, n int64) []byte {
	b = append(append(append(b, `,"`...), key...), `":`...)
	return strconv.AppendInt(b, n, 10)
}

func appendDigestKey(b []byte, d Digest) []byte {
	if d == 0 {
		return b
	}
	return appendDigest(append(b, `,"digest":`...), d)
}

func (h *ClusterHistory) appendDamage(b []byte, i int) []byte {
	d := &h.Damages[i]
	b = appendStamp(appendFirst(b, "damage", string(d.Node)), "at", int64(d.At))
	b = appendNumber(appendNumber(b, "ledger", int64(d.Ledger)), "entry", int64(d.Entry))
	return append(b, '}')
}

func (h *ClusterHistory) appendWrite(b []byte, i int) []byte {
	w := &h.Metadata[i]
	b = appendStamp(appendFirst(b, "metadata", w.State.String()), "at", int64(w.At))
	b = appendNumber(b, "ledger", int64(w.Ledger))
	b = appendStamp(appendStamp(b, "version", int64(w.Version)), "expected", int64(w.Expected))
	if w.State != LedgerGone {
		b = append(b, `,"quorum":[`...)
		b = append(strconv.AppendInt(b, int64(w.Quorum.Ensemble), 10), ',')
		b = append(strconv.AppendInt(b, int64(w.Quorum.Write), 10), ',')
		b = append(strconv.AppendInt(b, int64(w.Quorum.Ack), 10), ']')
	}
	if w.State == LedgerClosed {
		b = appendNumber(appendStamp(b, "last", int64(w.Last)), "length", w.Length)
	}
	for k, f := range h.fragmentsOf(w) {
		if k == 0 {
			b = append(b, `,"fragments":[`...)
		} else {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, '['), int64(f.first), 10)
		for _, n := range h.members(f.members) {
			b = append(append(append(b, `,"`...), n...), '"')
		}
		b = append(b, ']')
	}
	if w.answer.count > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}

func (h *ClusterHistory) appendNotice(b []byte, i int) []byte {
	n := &h.Notices[i]
	b = appendStamp(appendFirst(b, "notice", n.Kind.String()), "at", int64(n.At))
	b = appendNumber(appendNumber(b, "ledger", int64(n.Ledger)), "entry", int64(n.Entry))
	b = appendNumber(appendNumber(b, "client", int64(n.Client)), "writer", int64(n.Writer))
	for k, node := range h.By(i) {
		if k == 0 {
			b = append(b, `,"by":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), node...), '"')
	}
	if n.by.count > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}

func (h *ClusterHistory) appendOp(b []byte, i int) []byte {
	op := &h.Ops[i]
	b = appendFirst(b, "op", op.Kind.String())
	b = append(append(append(b, `,"outcome":"`...), op.Outcome.String()...), '"')
	b = appendNumber(appendNumber(b, "client", int64(op.Client)), "handle", int64(op.Handle))
	b = appendStamp(b, "call", int64(op.Call))
	if op.Return != Never {
		b = appendStamp(b, "return", int64(op.Return))
	}
	b = appendNumber(appendNumber(b, "ledger", int64(op.Ledger)), "entry", int64(op.Entry))
	b = appendNumber(appendNumber(b, "last", int64(op.Last)), "bound", int64(op.Bound))
	b = appendNumber(appendDigestKey(b, op.Digest), "length", op.Length)
	b = appendNumber(appendNumber(b, "maxCount", int64(op.MaxCount)), "maxBytes", op.MaxBytes)
	b = appendTrue(appendTrue(b, "closed", op.Closed), "final", op.Final)
	return append(appendItems(b, h.Items(i)), '}')
}

func (h *ClusterHistory) appendHolding(b []byte, i int) []byte {
	held := &h.Holdings[i]
	b = appendFirst(b, "holding", held.Outcome.String())
	b = append(append(append(b, `,"node":"`...), held.Node...), '"')
	b = appendNumber(appendNumber(b, "ledger", int64(held.Ledger)), "entry", int64(held.Entry))
	return append(appendDigestKey(b, held.Digest), '}')
}

// ReadClusterHistory reads what WriteClusterHistory wrote, and nothing else. Errors name the line and wrap ErrHistory,
// or are those of r.
func ReadClusterHistory(r io.Reader) (*ClusterHistory, error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), lineMaxBytes)
	h := &ClusterHistory{}
	number := clusterLines(0)
	for in.Scan() {
		if err := h.readLine(number, in.Bytes()); err != nil {
			return nil, fmt.Errorf("read cluster history, line %d: %w: %w", number+1, ErrHistory, err)
		}
		number++
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("read cluster history, line %d: %w: longer than %d bytes", number+1, ErrHistory, lineMaxBytes)
	case err != nil:
		return nil, fmt.Errorf("read cluster history, line %d: %w", number+1, err)
	case number == 0:
		return nil, fmt.Errorf("read cluster history: %w: it is empty", ErrHistory)
	}
	if err := h.Validate(); err != nil {
		return nil, fmt.Errorf("read cluster history: %w", err)
	}
	return h, nil
}

// readLine adds one line. Written again, it must be the same bytes and the last line: different files never mean the
// same history.
func (h *ClusterHistory) readLine(number clusterLines, line []byte) error {
	if number == 0 {
		h.StaleMetadata = string(line) == clusterHeaderStale
		if !h.StaleMetadata && string(line) != clusterHeader {
			return fmt.Errorf("the first line must be %s", clusterHeader)
		}
		return nil
	}
	var l clusterLine
	if err := json.Unmarshal(line, &l); err != nil {
		return err
	}
	if err := l.appendTo(h); err != nil {
		return err
	}
	if again := h.appendLine(nil, number); !bytes.Equal(line, again) {
		return fmt.Errorf("not in the form or place it would be written in, which is %.300s", again)
	}
	return nil
}

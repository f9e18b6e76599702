package page

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/sim"
)

// Ports by which the protocol of a connection is known, as package trial gives them out.
const (
	bookiePort   = "3181"
	metadataPort = "2181"
)

// streamKey is one direction of a connection: what this node sends.
type streamKey struct {
	conn int64
	from string
}

// stream is the bytes of one direction, cut into messages.
type stream struct {
	buffer     []byte
	began      time.Duration // when the first byte of what is in the buffer was sent
	sent, read int64
	under      []underway
	raw        bool // not in the form that was expected
}

// underway is a message that was not read to its end yet.
type underway struct {
	upTo  int64
	event *raw
}

// askedKey names a request to a metadata store.
type askedKey struct{ conn, sequence int64 }

type asked struct {
	words string
	refs  []ref
}

// send cuts what a node writes into messages. A message begins when its first byte is written.
func (r *Recorder) send(s *sim.Sight) {
	key := streamKey{s.Conn, s.Node}
	st := r.streams[key]
	if st == nil {
		st = &stream{}
		r.streams[key] = st
	}
	local, remote, _ := strings.Cut(s.Text, ">")
	if len(st.buffer) == 0 {
		st.began = s.At
	}
	for _, piece := range s.Data {
		st.buffer = append(st.buffer, piece...)
	}
	for !st.raw {
		packet, rest, ok := frame(st.buffer)
		if !ok {
			st.raw = rest == nil && len(st.buffer) > 0
			break
		}
		text, refs, bad := r.describe(s.Conn, local, remote, packet)
		e := r.add(raw{at: st.began, end: never, node: s.Node, peer: nodeOf(remote), kind: KindMessage, text: text, refs: refs, bad: bad})
		st.sent += int64(len(st.buffer) - len(rest))
		st.under = append(st.under, underway{st.sent, e})
		st.buffer, st.began = rest, s.At
	}
	if st.raw {
		e := r.add(raw{at: s.At, end: never, node: s.Node, peer: nodeOf(remote), kind: KindMessage, text: fmt.Sprintf("%d bytes", len(st.buffer))})
		st.sent += int64(len(st.buffer))
		st.under = append(st.under, underway{st.sent, e})
		st.buffer = nil
	}
}

// frame takes the first whole frame off the bytes. Not ok, and rest is nil: there never will be one.
func frame(b []byte) (packet, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, b, false
	}
	length := int64(binary.BigEndian.Uint32(b))
	if length > service.ResponseBytesMax { // the longest of both protocols
		return nil, nil, false
	}
	if int64(len(b)) < 4+length {
		return nil, b, false
	}
	return b[4:][:length], b[4+length:], true
}

// receive ends the messages that are now read.
func (r *Recorder) receive(s *sim.Sight) {
	_, remote, _ := strings.Cut(s.Text, ">")
	st := r.streams[streamKey{s.Conn, nodeOf(remote)}]
	if st == nil {
		return
	}
	st.read += s.Length
	for len(st.under) > 0 && st.under[0].upTo <= st.read {
		st.under[0].event.end = s.At
		st.under = st.under[1:]
	}
}

func nodeOf(address string) string {
	name, _, _ := strings.Cut(address, ":")
	return name
}

func portOf(address string) string {
	_, port, _ := strings.Cut(address, ":")
	return port
}

// describe says what a packet is.
func (r *Recorder) describe(conn int64, local, remote string, packet []byte) (text string, refs []ref, bad bool) {
	switch {
	case portOf(remote) == bookiePort:
		var q wire.Request
		if q.Decode(packet) == nil {
			return requestWords(&q)
		}
	case portOf(local) == bookiePort:
		var a wire.Response
		if a.Decode(packet) == nil {
			return answerWords(&a)
		}
	case portOf(remote) == metadataPort:
		if q, err := service.DecodeRequest(packet); err == nil {
			return r.storeRequest(conn, &q)
		}
	case portOf(local) == metadataPort:
		if a, err := service.DecodeResponse(packet); err == nil {
			return r.storeAnswer(conn, &a)
		}
	}
	return fmt.Sprintf("packet of %d bytes", len(packet)), nil, false
}

func requestWords(q *wire.Request) (string, []ref, bool) {
	about := ref{int64(q.Ledger), int64(q.Entry)}
	text := q.Operation.String() + " " + about.String()
	switch {
	case q.Operation == wire.Auth:
		return text, nil, false
	case q.Operation != wire.Add && q.Entry < 0:
		about.entry = wholeLedger
		text = fmt.Sprintf("%s last entry of ledger %d", q.Operation, q.Ledger)
	case q.Operation == wire.BatchRead:
		text = fmt.Sprintf("%s from %s, at most %d", q.Operation, about, q.MaxCount)
	case q.Operation == wire.Add:
		text += fmt.Sprintf(", %d bytes", len(q.Body))
	}
	if q.Flags != 0 {
		text += map[bool]string{true: ", recovery", false: ", fencing"}[q.Operation == wire.Add]
	}
	return text, []ref{about}, false
}

// batchRefsMax bounds the entries named by one answer.
const batchRefsMax = 64

func answerWords(a *wire.Response) (string, []ref, bool) {
	if a.Operation == wire.Auth {
		return "answer to auth", nil, false
	}
	about := ref{int64(a.Ledger), int64(a.Entry)}
	if a.Entry < 0 {
		about.entry = wholeLedger
	}
	refs := []ref{about}
	text := fmt.Sprintf("answer to %s %s: %s", a.Operation, about, a.Code)
	if a.Code == wire.OK && a.Operation == wire.BatchRead {
		count, err := wire.CountEntries(a.Body)
		if err == nil {
			text += fmt.Sprintf(", %d entries", count)
		}
		for i := 1; i < min(count, batchRefsMax); i++ {
			refs = append(refs, ref{about.ledger, about.entry + int64(i)})
		}
	}
	return text, refs, a.Code != wire.OK
}

func (r *Recorder) storeRequest(conn int64, q *service.Request) (string, []ref, bool) {
	words := strings.TrimSpace(q.Operation.String() + " " + q.Key)
	if q.Operation == service.Put {
		words += fmt.Sprintf(" at version %d", q.Expected)
	}
	refs := refsOfKey(q.Key)
	r.asked[askedKey{conn, q.Sequence}] = asked{words, refs}
	return words, refs, false
}

func (r *Recorder) storeAnswer(conn int64, a *service.Response) (string, []ref, bool) {
	if a.Operation == service.Notice {
		return "notice: changed " + a.Key, refsOfKey(a.Key), false
	}
	was := r.asked[askedKey{conn, a.Sequence}]
	delete(r.asked, askedKey{conn, a.Sequence})
	outcome := "done"
	if a.Code != 0 {
		outcome = storeCode(a.Code)
	} else if a.Version != 0 {
		outcome += fmt.Sprintf(", version %d", a.Version)
	}
	return "answer to " + was.words + ": " + outcome, was.refs, a.Code != 0
}

func storeCode(code service.Code) string {
	names := map[service.Code]string{
		service.Exist: "exists", service.NotExist: "does not exist", service.WrongVersion: "wrong version", service.NotEmpty: "not empty",
		service.SessionExpired: "session expired", service.Invalid: "invalid", service.Limit: "beyond a limit", service.Behind: "behind",
	}
	if name := names[code]; name != "" {
		return name
	}
	return fmt.Sprintf("code %d", code)
}

func refsOfKey(key string) []ref {
	if id, ok := (metadata.Layout{Root: metadata.DefaultRoot}).ParseLedgerKey(key); ok {
		return []ref{{int64(id), wholeLedger}}
	}
	return nil
}

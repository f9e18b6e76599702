package server

import (
	"errors"
	"fmt"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/wire"
	"lakebed/engine/host"
)

// piece are spans of one file of the log, with physical offsets.
type piece struct {
	spans []host.Span
	lent  commitlog.Lent
	held  bool
}

// pieces are the spans in which places lie, by files. Messages that lie together, or have little between them, share a span:
// each costs a call of the machine.
func pieces(store *commitlog.Store, places []commitlog.Place, gapMax int64) (all []piece) {
	fileEnd := int64(-1)
	for _, p := range places {
		if p.Physical >= fileEnd {
			fileEnd = store.FileEnd(p.Physical)
			all = append(all, piece{})
		}
		last := &all[len(all)-1]
		end := p.Physical + int64(p.Size)
		if n := len(last.spans); n > 0 {
			if s := &last.spans[n-1]; p.Physical-s.Off-s.Len <= gapMax {
				s.Len = end - s.Off
				continue
			}
		}
		last.spans = append(last.spans, host.Span{Off: p.Physical, Len: int64(p.Size)})
	}
	return all
}

// body is what follows the head of an answer.
type body struct {
	*connection
	pieces  []piece
	bytes   int64
	checked []byte // the bytes of all spans, if they were looked at; from host.Memory
}

// lend keeps the files open. ErrGone: one was removed.
func (b *body) lend() error {
	for i := range b.pieces {
		p := &b.pieces[i]
		lent, err := b.server.store.Lend(p.spans[0].Off)
		if err != nil {
			return err
		}
		p.lent, p.held = lent, true
		for _, s := range p.spans {
			b.bytes += s.Len
		}
	}
	return nil
}

func (b *body) release() {
	for _, p := range b.pieces {
		if p.held {
			p.lent.Release()
		}
	}
	if b.checked != nil {
		b.server.h.Memory().Put(b.checked)
	}
}

// pulled is the head of the answer.
func (b *body) pulled(found *commitlog.Located) *wire.Pulled {
	p := &wire.Pulled{Status: uint8(found.Status), Next: found.Next, Low: found.Min, High: found.Max}
	for _, one := range b.pieces {
		for _, s := range one.spans {
			p.Spans = append(p.Spans, wire.Span{Physical: s.Off, Length: uint32(s.Len)})
		}
	}
	for _, at := range found.Places {
		p.Places = append(p.Places, wire.Place{Offset: at.Offset, Physical: at.Physical, Size: uint32(at.Size)})
	}
	return p
}

// check reads everything and looks at every message.
func (b *body) check(topic string, queue int32, places []commitlog.Place) error {
	b.checked = b.server.h.Memory().Get(int(b.bytes))
	rest, at := b.checked, 0
	for _, p := range b.pieces {
		for _, s := range p.spans {
			bytes := rest[:s.Len]
			rest = rest[s.Len:]
			if _, err := host.ReadFull(p.lent.File(), bytes, s.Off-p.lent.Base()); err != nil {
				return fmt.Errorf("read %d bytes of the log at %d: %w", s.Len, s.Off, err)
			}
			for ; at < len(places) && places[at].Physical+int64(places[at].Size) <= s.Off+s.Len; at++ {
				from := places[at].Physical - s.Off
				if _, err := places[at].Decode(topic, queue, bytes[from:from+int64(places[at].Size)]); err != nil {
					b.server.h.Probe().Mark(host.Event{Name: PointDamaged, A: places[at].Physical})
					return err
				}
			}
		}
	}
	b.server.h.Probe().Mark(host.Event{Name: PointChecked, A: int64(len(places))})
	return nil
}

// copies reports whether the bytes come through the process, in chunks.
func (b *body) copies() bool {
	return b.server.config.Sender == ReadWrite || b.server.config.Sender == HeapCopy
}

// first is the first chunk of those that come through the process, so that an error can still be answered. It is from
// host.Memory, and write gives it back. Nil: there is none.
func (b *body) first(checked bool) ([]byte, error) {
	if checked || b.bytes == 0 || !b.copies() {
		return nil, nil
	}
	p := &b.pieces[0]
	chunk := b.server.h.Memory().Get(int(min(p.spans[0].Len, int64(b.server.config.SendBuffer))))
	if err := b.copyOut(p, chunk, p.spans[0].Off); err != nil {
		b.server.h.Memory().Put(chunk)
		return nil, err
	}
	return chunk, nil
}

// copyOut reads bytes of a piece in the way of the sender.
func (b *body) copyOut(p *piece, chunk []byte, physical int64) error {
	off := physical - p.lent.Base()
	if b.server.config.Sender == HeapCopy {
		m, err := p.lent.Mapping()
		if err == nil {
			_, err = m.ReadAt(chunk, off)
		}
		if !errors.Is(err, commitlog.ErrNoMapping) {
			return err
		}
		b.server.h.Probe().Mark(host.Event{Name: PointUnmapped})
	}
	_, err := host.ReadFull(p.lent.File(), chunk, off)
	return err
}

// write sends the head and everything that follows. The lock of answers is held.
func (b *body) write(head, first []byte, checked bool) error {
	defer func() {
		if first != nil {
			b.server.h.Memory().Put(first)
		}
	}()
	switch {
	case b.bytes == 0:
		return b.conn.WriteBuffers([][]byte{head})
	case checked:
		return b.conn.WriteBuffers([][]byte{head, b.checked})
	case b.copies():
		return b.writeChunks(head, first)
	}
	heads := [][]byte{head}
	for i := range b.pieces {
		if err := b.sendPiece(heads, &b.pieces[i]); err != nil {
			return err
		}
		heads = nil
	}
	return nil
}

// sendPiece has the machine send a piece.
func (b *body) sendPiece(head [][]byte, p *piece) error {
	sender, able := b.conn.(host.SpanSender)
	spans := make([]host.Span, len(p.spans))
	for i, s := range p.spans {
		spans[i] = host.Span{Off: s.Off - p.lent.Base(), Len: s.Len}
	}
	if able && b.server.config.Sender == SendFile {
		return sender.SendFile(head, p.lent.File(), spans)
	}
	if able {
		m, err := p.lent.Mapping()
		if err == nil {
			return sender.SendMapped(head, m, spans)
		}
	}
	b.server.h.Probe().Mark(host.Event{Name: PointUnmapped})
	return b.writePiece(head, p, nil)
}

// writeChunks sends through buffers. first are the first bytes, which are read already.
func (b *body) writeChunks(head, first []byte) error {
	heads := [][]byte{head}
	for i := range b.pieces {
		if err := b.writePiece(heads, &b.pieces[i], first); err != nil {
			return err
		}
		heads, first = nil, nil
	}
	return nil
}

func (b *body) writePiece(head [][]byte, p *piece, first []byte) error {
	memory := b.server.h.Memory()
	buffer := memory.Get(b.server.config.SendBuffer)
	defer func() { memory.Put(buffer) }()
	for _, s := range p.spans {
		for done := int64(0); done < s.Len; {
			chunk := first
			if chunk == nil {
				chunk = buffer[:min(s.Len-done, int64(len(buffer)))]
				if err := b.copyOut(p, chunk, s.Off+done); err != nil {
					return err
				}
			}
			if err := b.conn.WriteBuffers(append(head, chunk)); err != nil {
				return err
			}
			done += int64(len(chunk))
			head, first = nil, nil
		}
	}
	return nil
}

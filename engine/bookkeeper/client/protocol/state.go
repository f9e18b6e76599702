package protocol

import (
	"encoding/binary"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
)

// Clone returns a core that goes on from the same state and shares nothing that changes with this one. Effects that
// were not taken are cloned with it.
func (w *Writer) Clone() *Writer {
	c := w.clone()
	return &c
}

func (w *Writer) clone() Writer {
	c := *w
	c.window, c.change, c.watermarks, c.out = w.window.clone(), w.change.clone(), w.watermarks.clone(), w.out.clone()
	return c
}

// Clone returns a core that goes on from the same state and shares nothing that changes with this one.
func (r *Recovery) Clone() *Recovery {
	c := *r
	c.tail, c.writer, c.out = r.tail.clone(), r.writer.clone(), r.out.clone()
	return &c
}

func (o outbox) clone() outbox {
	return outbox{collecting: append([]Effect(nil), o.collecting...)}
}

// AppendState appends the state: two cores with the same options that append the same bytes will do the same on the
// same inputs. Effects not yet taken are left aside. Counters of attempts are in it: they decide when a core gives up.
func (w *Writer) AppendState(b []byte) []byte {
	b = append(b, byte(w.status), byte(w.failure))
	if w.status == ended {
		return b // all ends are alike: inputs are ignored
	}
	b = appendMetadata(b, w.metadata, w.version)
	b = appendInts(b, int64(w.window.first), int64(w.window.count), w.length, w.lacLength)
	for i := range w.window.count {
		p := w.window.at(i)
		b = appendInts(b, p.length, int64(p.lac), int64(p.acked), int64(p.failed))
	}
	b = w.change.appendState(b)
	b = w.write.appendState(b)
	for _, m := range w.watermarks.marks {
		b = appendInts(b, int64(m.contiguous), int64(m.highest), int64(len(m.beyond)))
		for _, e := range m.beyond {
			b = appendInts(b, int64(e))
		}
	}
	return b
}

func (c *change) appendState(b []byte) []byte {
	b = append(b, flag(c.running), flag(c.asking))
	b = appendInts(b, int64(c.failing), int64(c.weak), int64(c.delayed), int64(c.count))
	b = c.attempts.appendState(b)
	if !c.running {
		return b // what is left of the last change means nothing any more
	}
	b = appendInts(b, int64(c.asked), int64(len(c.swaps)))
	for _, s := range c.swaps {
		b = appendInts(b, int64(s.index))
		b = appendBookies(b, []ledger.BookieID{s.old, s.new})
	}
	return b
}

func (w *write) appendState(b []byte) []byte {
	if b = append(b, byte(w.step)); w.step == noCall {
		return b
	}
	b = appendInts(b, int64(w.attempt))
	return appendMetadata(b, w.proposed, w.expected)
}

// AppendState appends the state: two cores with the same options that append the same bytes will do the same on the
// same inputs. Effects not yet taken are left aside.
func (r *Recovery) AppendState(b []byte) []byte {
	if b = append(b, byte(r.phase)); r.phase == recovered {
		return b
	}
	b = appendMetadata(b, r.metadata, r.version)
	b = r.write.appendState(b)
	b = appendInts(b, int64(r.restarts))
	switch r.phase {
	case fencing:
		return appendInts(b, int64(r.open), int64(r.silent), int64(r.lac))
	case readingTail, measuring, closingUp:
	default:
		return b
	}
	b = appendInts(b, int64(r.lac), int64(r.tail.first), int64(len(r.tail.reads)))
	b = append(b, flag(r.tail.over))
	for i := range r.tail.reads {
		b = r.tail.reads[i].appendState(b)
	}
	b = r.measured.appendState(b)
	return r.writer.AppendState(b)
}

func (t *tailRead) appendState(b []byte) []byte {
	b = append(b, flag(t.found))
	return appendInts(b, int64(t.answered), int64(t.absent), int64(t.unknown), int64(t.corrupt), t.length, t.size)
}

func appendMetadata(b []byte, m *ledger.Metadata, v metadata.Version) []byte {
	b = appendInts(b, int64(v))
	if m == nil {
		return append(b, 0)
	}
	b = append(b, byte(m.State))
	b = appendInts(b, int64(m.LastEntry), m.Length, int64(len(m.Fragments)))
	for _, f := range m.Fragments {
		b = appendInts(b, int64(f.First))
		b = appendBookies(b, f.Ensemble)
	}
	return b
}

func appendBookies(b []byte, ids []ledger.BookieID) []byte {
	for _, id := range ids {
		b = binary.AppendUvarint(b, uint64(len(id)))
		b = append(b, id...)
	}
	return b
}

func appendInts(b []byte, values ...int64) []byte {
	for _, v := range values {
		b = binary.AppendVarint(b, v)
	}
	return b
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

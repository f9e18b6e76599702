package wire

import (
	"encoding/binary"
	"fmt"
)

// Placed is the answer to a produce that was done.
type Placed struct {
	Queue                         int32
	QueueOffset, Physical, Stored int64
}

// Span is a range of the log.
type Span struct {
	Physical int64
	Length   uint32
}

// Place is where one message lies.
type Place struct {
	Offset, Physical int64
	Size             uint32
}

// Pulled is the answer to a pull that was done, but for the bytes of its spans.
type Pulled struct {
	Status          uint8
	Next, Low, High int64
	Spans           []Span
	Places          []Place
}

const (
	spanBytes  = 8 + 4
	placeBytes = 8 + 8 + 4
	textMax    = 1 << 10 // of an error: longer ones are cut
)

// AppendError appends the frame of an answer that is none.
func AppendError(dst []byte, op Operation, sequence Sequence, code Code, text string) []byte {
	start := len(dst)
	dst = append(begin(dst, op, sequence), byte(code))
	return end(appendText(dst, text[:min(len(text), textMax)]), start, 0)
}

// ParseCode takes the code off an answer's body, and the text if it is not Done.
func ParseCode(body []byte) (code Code, text string, rest []byte, err error) {
	c := cursor{rest: body}
	code = Code(c.uint8())
	if code == Done {
		if c.short {
			err = fmt.Errorf("an empty answer: %w", ErrFrame)
		}
		return code, "", c.rest, err
	}
	text = string(c.text())
	return code, text, nil, c.done("an error")
}

// AppendPlaced appends the frame of an answer.
func AppendPlaced(dst []byte, sequence Sequence, p Placed) []byte {
	start := len(dst)
	dst = append(begin(dst, OpProduce, sequence), byte(Done))
	dst = binary.BigEndian.AppendUint32(dst, uint32(p.Queue))
	for _, n := range []int64{p.QueueOffset, p.Physical, p.Stored} {
		dst = binary.BigEndian.AppendUint64(dst, uint64(n))
	}
	return end(dst, start, 0)
}

// ParsePlaced reads an answer's body behind its code.
func ParsePlaced(rest []byte) (Placed, error) {
	c := cursor{rest: rest}
	p := Placed{Queue: int32(c.uint32()), QueueOffset: c.int64(), Physical: c.int64(), Stored: c.int64()}
	return p, c.done("an answer to a produce")
}

// AppendPulled appends the frame of an answer, which the bytes of its spans are to follow.
func AppendPulled(dst []byte, sequence Sequence, p *Pulled) []byte {
	start, order := len(dst), binary.BigEndian
	dst = append(begin(dst, OpPull, sequence), byte(Done), p.Status)
	for _, n := range []int64{p.Next, p.Low, p.High} {
		dst = order.AppendUint64(dst, uint64(n))
	}
	follows := int64(0)
	dst = order.AppendUint32(dst, uint32(len(p.Spans)))
	for _, s := range p.Spans {
		dst = order.AppendUint32(order.AppendUint64(dst, uint64(s.Physical)), s.Length)
		follows += int64(s.Length)
	}
	dst = order.AppendUint32(dst, uint32(len(p.Places)))
	for _, at := range p.Places {
		dst = order.AppendUint64(order.AppendUint64(dst, uint64(at.Offset)), uint64(at.Physical))
		dst = order.AppendUint32(dst, at.Size)
	}
	return end(dst, start, follows)
}

// ParsePulled reads an answer's body behind its code. data are the bytes of all spans.
func ParsePulled(rest []byte) (p Pulled, data []byte, err error) {
	c := cursor{rest: rest}
	p.Status, p.Next, p.Low, p.High = c.uint8(), c.int64(), c.int64(), c.int64()
	follows := int64(0)
	if n := uint64(c.uint32()); n*spanBytes <= uint64(len(c.rest)) {
		p.Spans = make([]Span, n)
	} else {
		c.short = true
	}
	for i := range p.Spans {
		p.Spans[i] = Span{c.int64(), c.uint32()}
		follows += int64(p.Spans[i].Length)
	}
	if n := uint64(c.uint32()); n*placeBytes <= uint64(len(c.rest)) {
		p.Places = make([]Place, n)
	} else {
		c.short = true
	}
	for i := range p.Places {
		p.Places[i] = Place{c.int64(), c.int64(), c.uint32()}
	}
	if c.short || int64(len(c.rest)) != follows {
		return Pulled{}, nil, fmt.Errorf("an answer to a pull of a wrong length: %w", ErrFrame)
	}
	return p, c.rest, nil
}

// Bytes are those of the message at a place. Nil: it lies in no span. at is the span to look in first, and the one in which
// it was found: places ascend as spans do.
func (p *Pulled) Bytes(place Place, data []byte, at *Position) []byte {
	for ; at.span < len(p.Spans); at.span++ {
		s := p.Spans[at.span]
		if off := place.Physical - s.Physical; off >= 0 && off <= int64(s.Length) && int64(place.Size) <= int64(s.Length)-off {
			return data[at.before+off : at.before+off+int64(place.Size)]
		}
		at.before += int64(s.Length)
	}
	return nil
}

// Position is how far Bytes has come in the spans of an answer.
type Position struct {
	span   int
	before int64 // bytes of the spans before it
}

package wire

import "encoding/binary"

// Produce asks to store a message.
type Produce struct {
	Queue, Flag, SysFlag    int32
	Born                    int64 // ms
	Topic, Properties, Body []byte
}

// AppendProduce appends the frame of a request. Topic and properties must be shorter than 64 KiB.
func AppendProduce(dst []byte, sequence Sequence, p *Produce) []byte {
	start := len(dst)
	dst = begin(dst, OpProduce, sequence)
	for _, n := range []int32{p.Queue, p.Flag, p.SysFlag} {
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(p.Born))
	dst = appendText(appendText(dst, p.Topic), p.Properties)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(p.Body)))
	return end(append(dst, p.Body...), start, 0)
}

// ParseProduce reads the body of a request.
func ParseProduce(body []byte) (Produce, error) {
	c := cursor{rest: body}
	p := Produce{Queue: int32(c.uint32()), Flag: int32(c.uint32()), SysFlag: int32(c.uint32()), Born: c.int64()}
	p.Topic, p.Properties = c.text(), c.text()
	p.Body = c.take(uint64(c.uint32()))
	return p, c.done("a produce")
}

// Pull asks for messages.
type Pull struct {
	Checked       bool // the server is to look at every message before it answers
	Queue         int32
	Offset        int64
	Count, Bytes  uint32 // at most so many; zero: as the server likes
	SuspendMillis uint32 // how long to wait if there are none
	Topic         []byte
	Tags          [][]byte
}

const flagChecked = 1

// TagsMax is how many tags a pull may have.
const TagsMax = 255

// AppendPull appends the frame of a request. Texts must be shorter than 64 KiB, and tags no more than TagsMax.
func AppendPull(dst []byte, sequence Sequence, p *Pull) []byte {
	start := len(dst)
	dst = begin(dst, OpPull, sequence)
	flags := byte(0)
	if p.Checked {
		flags |= flagChecked
	}
	dst = binary.BigEndian.AppendUint32(append(dst, flags), uint32(p.Queue))
	dst = binary.BigEndian.AppendUint64(dst, uint64(p.Offset))
	for _, n := range []uint32{p.Count, p.Bytes, p.SuspendMillis} {
		dst = binary.BigEndian.AppendUint32(dst, n)
	}
	dst = append(appendText(dst, p.Topic), byte(len(p.Tags)))
	for _, tag := range p.Tags {
		dst = appendText(dst, tag)
	}
	return end(dst, start, 0)
}

// ParsePull reads the body of a request.
func ParsePull(body []byte) (Pull, error) {
	c := cursor{rest: body}
	flags := c.uint8()
	p := Pull{Checked: flags&flagChecked != 0, Queue: int32(c.uint32()), Offset: c.int64()}
	p.Count, p.Bytes, p.SuspendMillis = c.uint32(), c.uint32(), c.uint32()
	p.Topic = c.text()
	for range c.uint8() {
		p.Tags = append(p.Tags, c.text())
	}
	c.short = c.short || flags&^flagChecked != 0
	return p, c.done("a pull")
}

package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"

	"lakebed/engine/inspection"
	"lakebed/engine/seglog/message"
)

// The bounds of one search for the next whole record.
const (
	searchBytesMax = 64 << 20  // it begins so many bytes behind the place at most
	testedBytesMax = 256 << 20 // records that might be whole have so many bytes together
)

// notWhole reports bytes that are no record, and goes to the next one that is whole; false: the log ends here. In the newest
// segment, which is not sealed, behind its checkpoints, a crash may have left them, and a start cuts them off with all that is
// behind: that is counted only.
func (r *Report) notWhole(l *log, in *reader, err error) bool {
	if !errors.Is(err, message.ErrCorrupt) {
		r.Found(inspection.Damage, Unreadable, l.file, in.At, "%v", err)
		return false
	}
	s, at := l.s, in.At
	newest := !s.Sealed && l.limit == noLimit && at >= l.checkpoints.durable()
	if newest && in.zeros() {
		s.Zeros = in.Size - at
		return false // that is the end
	}
	record, searched := in.search(l)
	found, where := in.At > at, fmt.Sprintf("no whole record begins in the %d bytes behind it; %d bytes of the file are behind it", searched, in.Size-at)
	if found {
		where = fmt.Sprintf("%d bytes are skipped: the next whole record, of cursor %d, lies at %d", in.At-at, record.Cursor, in.At)
	}
	if newest {
		if found {
			s.Stray = in.strays(l)
			where += fmt.Sprintf("; a start cuts off what is behind the first: %d messages in a row", s.Stray)
		}
		r.Found(inspection.Doubt, TornTail, l.file, at, "no whole record: %v; %s", err, where)
		return false
	}
	r.Found(inspection.Damage, Rot, l.file, at, "no whole record: %v; %s", err, where)
	if found {
		s.Skipped += in.At - at
		l.skipTo(in.At, record.Cursor)
	}
	return found
}

// search goes to the next whole record that may follow on what was read. It tries first where the one that is not whole would
// end, and stays where it is if there is none. It returns how many bytes it has searched.
func (in *reader) search(l *log) (record message.Record, searched int64) {
	from, end := in.At, min(in.Size, l.end)
	last := min(end-message.HeaderBytes, from+searchBytesMax)
	c := candidate{log: l, from: from, end: end}
	if head, err := in.Bytes(message.HeaderBytes); err == nil {
		if at := from + message.PeekSize(head); at >= from+message.HeaderBytes && at <= last && c.whole(in, at) {
			return c.record, at - from
		}
	}
	at := from + 1
	for ; at <= last && c.tested < testedBytesMax && c.failure == nil; at++ {
		if c.whole(in, at) {
			return c.record, at - from
		}
	}
	in.At = from
	return record, at - from
}

// candidate is a record that might follow on bytes that are none.
type candidate struct {
	log       *log
	from, end int64
	record    message.Record
	tested    int64
	failure   error // the machine cannot read on: without it each byte would be tried
}

// whole moves the reader there, and says whether a whole record lies there, of a cursor that fits.
func (c *candidate) whole(in *reader, at int64) bool {
	in.At = at
	head, err := in.Bytes(message.HeaderBytes)
	if err == nil {
		size, cursor := message.PeekSize(head), message.Cursor(binary.BigEndian.Uint64(head))
		most := c.log.s.Next + message.Cursor((at-c.from)/message.HeaderBytes) + 1 // more records do not fit in between
		if size < message.HeaderBytes || at+size > c.end || size != message.HeaderBytes+int64(binary.BigEndian.Uint32(head[17:])) ||
			cursor < c.log.s.Next || cursor > most || cursor >= c.log.limit {
			return false
		}
		c.tested += size
		c.record, _, err = in.record()
	}
	if err != nil && !errors.Is(err, message.ErrCorrupt) {
		c.failure = err
	}
	return err == nil
}

// strays counts the messages from here on, as far as whole ones follow one another.
func (in *reader) strays(l *log) (count int64) {
	for in.At < min(in.Size, l.end) {
		record, size, err := in.record()
		if err != nil {
			break
		}
		if !record.Filler {
			count++
		}
		in.At += size
	}
	return count
}

// skipTo goes on behind messages that could not be read: what speaks of them is not compared, and of the largest time it is
// known only that it is not less than that of the messages that were read.
func (l *log) skipTo(at int64, next message.Cursor) {
	s := l.s
	all := l.indexes
	if c := l.checkpoints; c != nil {
		all = append([]*index{c.index, c.times}, all...)
		c.loose = true
		for c.met < len(c.runs) && c.runs[c.met].logBytes < at {
			c.met++
		}
	}
	for _, x := range all {
		x.skipTo(next)
	}
	s.Bytes, s.Next = at, next
}

// skipTo passes over items about messages before a cursor.
func (x *index) skipTo(next message.Cursor) {
	x.loose = true
	for x.met < len(x.items) && x.about(x.met) < next {
		x.met++
	}
}

// about is the cursor that an item speaks of.
func (x *index) about(item int) message.Cursor {
	if x.kind == kindTimes {
		return message.Cursor(x.items[item].value)
	}
	return message.Cursor(x.items[item].key)
}

// differs compares a largest time that was promised with that of the messages that were read, of which some may be missing.
func differs(promised, read message.Time, loose bool) bool {
	return promised < read || promised > read && !loose
}

package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"

	"lakebed/engine/host"
	"lakebed/engine/inspection"
	"lakebed/engine/seglog/message"
)

const (
	checkpointMagic    = "SLCHECK1"
	checkpointBytesMax = 1 << 30
)

// checkpoints is what the file of a segment's checkpoints says.
type checkpoints struct {
	file   string
	runs   []promise
	met    int    // of them, how many the log has reached
	index  *index // the items of all runs, as if they were those of index files
	times  *index
	broken bool
	loose  bool // messages were skipped
}

// promise is what one run says of the log: that so many bytes of it are durable.
type promise struct {
	next     message.Cursor
	logBytes int64
	newest   message.Time
}

// durable is how many bytes of the log are promised.
func (c *checkpoints) durable() int64 {
	if c == nil || len(c.runs) == 0 {
		return 0
	}
	return c.runs[len(c.runs)-1].logBytes
}

// checkpoints reads the file of a segment's checkpoints, and reports what is wrong with it by itself. Nil: there is none.
func (r *Report) checkpoints(name string, dir host.Dir, base message.Cursor) *checkpoints {
	c := &checkpoints{file: name + "/" + fileName(base, checkpointSuffix)}
	c.index, c.times = &index{file: c.file, kind: kindIndex, base: base}, &index{file: c.file, kind: kindTimes, base: base}
	content, err := inspection.ReadAll(dir, fileName(base, checkpointSuffix), checkpointBytesMax)
	if errors.Is(err, host.ErrNotExist) {
		return nil // its segment was sealed meanwhile
	}
	if err != nil {
		r.Found(inspection.Damage, Unreadable, c.file, 0, "%v", err)
		return nil
	}
	block := 0
	for block*blockBytes < len(content) {
		blocks, err := c.run(content, block, base)
		if err != nil {
			r.endOfRuns(c, content, block, err)
			break
		}
		block += blocks
	}
	return c
}

// endOfRuns reports the first run that is not whole. A crash leaves one at the end of the file only: a whole one behind it was
// written when this one was durable.
func (r *Report) endOfRuns(c *checkpoints, content []byte, block int, why error) {
	severity := inspection.Doubt
	for later := block + 1; (later+1)*blockBytes <= len(content); later++ {
		if head := content[later*blockBytes:][:blockBytes]; isRun(head) && int(binary.BigEndian.Uint32(head[12:])) == later {
			severity = inspection.Damage
		}
	}
	r.Found(severity, BadCheckpoint, c.file, int64(block)*blockBytes, "%v; a start reads of the log what is behind the checkpoints before it", why)
}

func isRun(head []byte) bool {
	return string(head[:8]) == checkpointMagic && binary.BigEndian.Uint32(head[8:]) == sumOf(head[12:])
}

// run takes up the run that begins with this block, and returns how many blocks it has.
func (c *checkpoints) run(content []byte, block int, base message.Cursor) (blocks int, err error) {
	if len(content) < (block+1)*blockBytes || !isRun(content[block*blockBytes:][:blockBytes]) {
		return 0, fmt.Errorf("a run that is not whole: %w", errBadIndex)
	}
	order, head := binary.BigEndian, content[block*blockBytes:]
	p := promise{next: message.Cursor(order.Uint64(head[40:])), logBytes: int64(order.Uint64(head[48:])), newest: message.Time(order.Uint64(head[56:]))}
	before := promise{next: base}
	if n := len(c.runs); n > 0 {
		before = c.runs[n-1]
	}
	timesFrom := int(order.Uint32(head[28:]))
	if int(order.Uint32(head[12:])) != block || message.Cursor(order.Uint64(head[32:])) != base || p.next <= before.next ||
		p.logBytes <= before.logBytes || p.newest < before.newest || int(order.Uint32(head[24:])) != len(c.index.items) || timesFrom > len(c.times.items) {
		return 0, fmt.Errorf("a run up to cursor %d in %d bytes does not follow on %d in %d: %w", p.next, p.logBytes, before.next, before.logBytes, errBadIndex)
	}
	blocks = 1
	var added [2][]item
	for i := range added {
		count := int(order.Uint32(head[16+4*i:]))
		n := (count + itemsPerBlock - 1) / itemsPerBlock
		if len(content) < (block+blocks+n)*blockBytes {
			return 0, fmt.Errorf("a run with %d blocks of items, of which some are missing: %w", n, errBadIndex)
		}
		if added[i], err = itemsOf(content, block+blocks, count); err != nil {
			return 0, err
		}
		blocks += n
	}
	c.runs = append(c.runs, p)
	c.index.items = append(c.index.items, added[0]...)
	c.times.items = append(c.times.items[:timesFrom], added[1]...)
	return blocks, nil
}

// meet compares the promise that ends where the log has been read to.
func (c *checkpoints) meet(r *Report, s *Segment) {
	for !c.broken && c.met < len(c.runs) && c.runs[c.met].logBytes <= s.Bytes {
		if p := c.runs[c.met]; p.logBytes != s.Bytes || p.next != s.Next || differs(p.newest, s.Newest, c.loose) {
			c.broken = true
			r.Found(inspection.Damage, CheckpointMismatch, c.file, 0, "it promises messages up to %d in %d bytes with times up to %d; the log holds them up to %d in %d bytes with times up to %d",
				p.next, p.logBytes, p.newest, s.Next, s.Bytes, s.Newest)
		}
		c.met++
	}
}

// compare looks at what is left when the log has been read.
func (c *checkpoints) compare(r *Report, s *Segment) {
	s.Durable = c.durable()
	c.times.meet(r, s.Next, s.Bytes, s.Newest) // of all messages
	if left := len(c.runs) - c.met; !c.broken && left > 0 {
		p := c.runs[len(c.runs)-1]
		r.Found(inspection.Damage, CheckpointMismatch, c.file, 0, "it promises messages up to %d in %d bytes; the log has them up to %d in %d bytes", p.next, p.logBytes, s.Next, s.Bytes)
		return
	}
	for _, x := range []*index{c.index, c.times} {
		if !x.broken && x.met < len(x.items) {
			x.mismatch(r, "%d items speak of messages that the log does not hold", len(x.items)-x.met)
		}
	}
}

package inspect

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"lakebed/engine/host"
	"lakebed/engine/inspection"
	"lakebed/engine/seglog/message"
)

const (
	logSuffix   = ".log"
	indexSuffix = ".index"
	timesSuffix = ".timeindex"

	checkpointSuffix = ".checkpoint"
	asideSuffix      = ".aside" // of a file that a start took out of the way
)

// found is what there is of a segment.
type found struct {
	base                          message.Cursor
	log, index, times, checkpoint bool
	limit                         message.Cursor // base of the next one; noLimit: it is the newest
	sealedAfter                   bool           // a later one is sealed
}

func (f *found) sealed() bool { return f.index && f.times }

// noLimit is that of the newest segment.
const noLimit = message.Cursor(math.MaxInt64)

// partition inspects the segments of a partition, the oldest first.
func (r *Report) partition(name string, number int, dir host.Dir) Partition {
	p := Partition{Number: number, Segments: []Segment{}}
	infos, err := dir.List()
	if err != nil {
		r.Found(inspection.Damage, Unreadable, name, 0, "%v", err)
		return p
	}
	for _, f := range r.segmentsAmong(name, infos) {
		s := r.segment(name, dir, f)
		if n := len(p.Segments); n > 0 && p.Segments[n-1].Next != f.base {
			r.Found(inspection.Damage, Gap, name+"/"+fileName(f.base, logSuffix), 0, "cursor %d follows on %d", f.base, p.Segments[n-1].Next)
		}
		p.Segments = append(p.Segments, s)
	}
	if slices.ContainsFunc(infos, func(i host.Info) bool { return i.Name == sealedName && !i.Dir }) {
		r.sealed(name, dir, p.Segments)
	}
	return p
}

// segmentsAmong sorts the files of a partition by segments. What is left of segments that retention removes is no segment.
func (r *Report) segmentsAmong(name string, infos []host.Info) []*found {
	files := map[message.Cursor]*found{}
	for _, info := range infos {
		base, suffix, ok := parseName(info.Name)
		if !ok {
			if strings.Contains(info.Name, asideSuffix) {
				r.Found(inspection.Doubt, Aside, name+"/"+info.Name, 0, "a start has set it aside: there was no log with it, and it does not say what was in one; remove it when you have looked")
				continue
			}
			if !strings.HasSuffix(info.Name, host.UnfinishedSuffix) && info.Name != lockFile && info.Name != sealedName {
				r.Found(inspection.Note, Orphan, name+"/"+info.Name, 0, "nothing of a partition's")
			}
			continue
		}
		if files[base] == nil {
			files[base] = &found{base: base, limit: noLimit}
		}
		switch suffix {
		case logSuffix:
			files[base].log = true
		case indexSuffix:
			files[base].index = true
		case timesSuffix:
			files[base].times = true
		case checkpointSuffix:
			files[base].checkpoint = true
		}
	}
	var all []*found
	for _, base := range host.SortedKeys(files) {
		if f := files[base]; f.log || len(all) > 0 {
			all = append(all, f)
		} else {
			r.Found(inspection.Note, Orphan, name+"/"+strconv.FormatInt(int64(base), 10), 0, "files without a log, before all logs: the removal of a segment was not completed")
		}
	}
	for i := len(all) - 2; i >= 0; i-- {
		all[i].limit, all[i].sealedAfter = all[i+1].base, all[i+1].sealedAfter || all[i+1].sealed()
	}
	return all
}

func fileName(base message.Cursor, suffix string) string {
	return strconv.FormatInt(int64(base), 10) + suffix
}

// segment inspects one segment.
func (r *Report) segment(name string, dir host.Dir, f *found) Segment {
	s := Segment{Base: f.base, Next: f.base, Sealed: f.sealed(), Lost: !f.log}
	s.Full = !s.Sealed && f.limit != noLimit
	file := name + "/" + fileName(f.base, logSuffix)
	switch {
	case s.Sealed:
	case f.sealedAfter: // one after the other, the oldest first
		r.Found(inspection.Damage, Missing, file, 0, "index files are missing, and a later segment has its own")
	case f.index != f.times:
		r.Found(inspection.Doubt, Missing, file, 0, "one of its two index files is missing: a stop came while it was sealed, or the file is lost")
	}
	l := &log{s: &s, file: file, limit: f.limit, end: math.MaxInt64, indexes: r.indexes(name, dir, f, &s)}
	if f.checkpoint {
		if s.Sealed {
			r.Found(inspection.Note, Orphan, name+"/"+fileName(f.base, checkpointSuffix), 0, "checkpoints of a segment that is sealed: a stop came before they were removed")
		}
		l.checkpoints = r.checkpoints(name, dir, f.base)
	}
	if s.Lost {
		r.lost(l)
		return s
	}
	l.setEnd()
	r.scan(l, dir)
	for _, x := range l.indexes {
		x.compare(r, &s)
	}
	if l.checkpoints != nil {
		l.checkpoints.compare(r, &s)
	}
	return s
}

// indexes reads the index files of a segment, and reports what is wrong with each by itself.
func (r *Report) indexes(name string, dir host.Dir, f *found, s *Segment) (all []*index) {
	for _, kind := range []struct {
		there  bool
		suffix string
		kind   uint32
	}{{f.index, indexSuffix, kindIndex}, {f.times, timesSuffix, kindTimes}} {
		if !kind.there {
			continue
		}
		own := name + "/" + fileName(f.base, kind.suffix)
		x, err := readIndex(dir, fileName(f.base, kind.suffix), kind.kind)
		switch {
		case errors.Is(err, errBadIndex):
			r.Found(inspection.Damage, BadIndex, own, 0, "%v", err)
		case err != nil:
			r.Found(inspection.Damage, Unreadable, own, 0, "%v", err)
		default:
			x.file = own
			s.Items += len(x.items)
			all = append(all, x)
		}
	}
	return all
}

// lost reports a segment of which all is there but its log.
func (r *Report) lost(l *log) {
	for _, x := range l.indexes {
		l.s.Next = max(l.s.Next, x.next)
	}
	if c := l.checkpoints; c != nil && len(c.runs) > 0 {
		l.s.Next = max(l.s.Next, c.runs[len(c.runs)-1].next)
	}
	r.Found(inspection.Damage, Missing, l.file, 0, "the log is missing, and other files of its segment are there; they tell of messages %d to %d", l.s.Base, l.s.Next)
}

// log is a segment's log while it is read, with what speaks of it.
type log struct {
	s           *Segment
	file        string
	limit       message.Cursor // messages from here on are those of the next segment
	end         int64          // nothing of the file behind this counts, as both index files say
	indexes     []*index
	checkpoints *checkpoints // nil: there are none
}

// setEnd believes index files where their segment ends if there are both, of this segment, and they say the same: the file
// may hold more, which a start has copied into the next segment. It believes one alone that says the same as the name of the next segment:
// a filler may lie behind the last message.
func (l *log) setEnd() {
	all := l.indexes
	if len(all) == 0 || all[0].base != l.s.Base {
		return
	}
	if last := all[len(all)-1]; len(all) == 1 && last.next == l.limit ||
		len(all) == 2 && last.base == l.s.Base && all[0].logBytes == last.logBytes && all[0].next == last.next {
		l.end = last.logBytes
	}
}

// goesOn reports whether a segment has more behind this place of its log: where it ends says the index, a checkpoint or, at
// the latest, the next segment.
func (l *log) goesOn(at int64) bool {
	return l.end < math.MaxInt64 || l.s.Next < l.limit || at < l.checkpoints.durable()
}

// scan reads a log from its beginning to its end, and compares what speaks of it on the way. Behind bytes that are no record it goes
// on with the next one that is whole.
func (r *Report) scan(l *log, dir host.Dir) {
	s := l.s
	f, err := dir.Open(fileName(s.Base, logSuffix))
	if err != nil {
		r.Found(inspection.Damage, Unreadable, l.file, 0, "%v", err)
		return
	}
	defer f.Close() //nolint:errcheck // it was only read
	size, err := f.Size()
	if err != nil {
		r.Found(inspection.Damage, Unreadable, l.file, 0, "%v", err)
		return
	}
	in := reader{inspection.NewReader(f, size, message.ErrCorrupt)}
	for in.At < min(in.Size, l.end) && l.goesOn(in.At) {
		record, size, err := in.record()
		switch {
		case err != nil:
			if !r.notWhole(l, &in, err) {
				return
			}
			continue
		case record.Cursor > s.Next:
			r.Found(inspection.Damage, Gap, l.file, in.At, "a record of cursor %d, where %d is next", record.Cursor, s.Next)
			l.skipTo(in.At, record.Cursor)
		case record.Cursor < s.Next: // it is not believed
			if !r.notWhole(l, &in, fmt.Errorf("a record of cursor %d, where %d is next: %w", record.Cursor, s.Next, message.ErrCorrupt)) {
				return
			}
			continue
		}
		if record.Filler {
			s.Fillers++
		} else {
			r.message(l, in.At, record)
		}
		in.At += size
		s.Bytes = in.At
		if l.checkpoints != nil {
			l.checkpoints.meet(r, s)
		}
	}
	s.behind(&in)
	if l.limit == noLimit && s.Behind > 0 { // of the newest nothing was copied
		if record, _, err := in.record(); err == nil && record.Cursor == s.Next && !record.Filler {
			r.Found(inspection.Damage, IndexMismatch, l.file, in.At, "message %d lies behind the end of which its index files tell, and no segment follows", s.Next)
		}
	}
}

// message takes up one message.
func (r *Report) message(l *log, at int64, record message.Record) {
	s := l.s
	time, err := message.NewestTime(record.Payload)
	if err != nil {
		r.Found(inspection.Damage, BadMessage, l.file, at, "message %d: %v", record.Cursor, err)
	}
	for _, x := range l.indexes {
		x.meet(r, record.Cursor, at, s.Newest)
	}
	if c := l.checkpoints; c != nil {
		c.index.meet(r, record.Cursor, at, s.Newest)
		c.times.meet(r, record.Cursor, at, s.Newest)
	}
	if err != nil {
		l.skipTo(at, record.Cursor+1) // it may have had any time
		return
	}
	s.Newest = max(s.Newest, time)
	s.Next++
}

// reader reads records one after the other.
type reader struct{ inspection.Reader }

// record returns the record at the reader's place, which is good until the next call.
func (in *reader) record() (message.Record, int64, error) {
	head, err := in.Bytes(message.HeaderBytes)
	if err != nil {
		return message.Record{}, 0, err
	}
	size := message.PeekSize(head)
	if size < message.HeaderBytes || in.At+size > in.Size {
		return message.Record{}, 0, message.ErrCorrupt
	}
	p, err := in.Bytes(size)
	if err != nil {
		return message.Record{}, 0, err
	}
	return message.Decode(p)
}

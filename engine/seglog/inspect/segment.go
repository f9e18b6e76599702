package inspect

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"lakebed/engine/host"
	"lakebed/engine/seglog/message"
)

const (
	logSuffix   = ".log"
	indexSuffix = ".index"
	timesSuffix = ".timeindex"
)

// found is what there is of a segment.
type found struct {
	base              message.Cursor
	log, index, times bool
}

// partition inspects the segments of a partition, the oldest first.
func (r *Report) partition(name string, number int, dir host.Dir) Partition {
	p := Partition{Number: number, Segments: []Segment{}}
	infos, err := dir.List()
	if err != nil {
		r.problem(Damage, Unreadable, name, 0, "%v", err)
		return p
	}
	files := map[message.Cursor]*found{}
	for _, info := range infos {
		base, suffix, ok := parseName(info.Name)
		if !ok {
			if !strings.HasSuffix(info.Name, host.UnfinishedSuffix) && info.Name != lockFile {
				r.problem(Note, Orphan, name+"/"+info.Name, 0, "nothing of a partition's")
			}
			continue
		}
		if files[base] == nil {
			files[base] = &found{base: base}
		}
		switch suffix {
		case logSuffix:
			files[base].log = true
		case indexSuffix:
			files[base].index = true
		case timesSuffix:
			files[base].times = true
		}
	}
	bases := host.SortedKeys(files)
	for i, base := range bases {
		f := files[base]
		if !f.log {
			r.problem(Note, Orphan, name+"/"+strconv.FormatInt(int64(base), 10), 0, "index files without a log: its removal was not completed")
			continue
		}
		s := r.segment(name, dir, f, i == len(bases)-1)
		if n := len(p.Segments); n > 0 && p.Segments[n-1].Next != base {
			r.problem(Damage, Gap, name+"/"+fileName(base, logSuffix), 0, "cursor %d follows on %d", base, p.Segments[n-1].Next)
		}
		p.Segments = append(p.Segments, s)
	}
	return p
}

func fileName(base message.Cursor, suffix string) string {
	return strconv.FormatInt(int64(base), 10) + suffix
}

// segment inspects one segment. Only the newest may lack index files.
func (r *Report) segment(name string, dir host.Dir, f *found, newest bool) Segment {
	s := Segment{Base: f.base, Next: f.base, Sealed: f.index && f.times}
	file := name + "/" + fileName(f.base, logSuffix)
	if !newest && !s.Sealed {
		r.problem(Damage, Missing, file, 0, "index files are missing, and it is not the newest segment")
	}
	var indexes []*index
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
			r.problem(Damage, BadIndex, own, 0, "%v", err)
		case err != nil:
			r.problem(Damage, Unreadable, own, 0, "%v", err)
		default:
			x.file = own
			s.Items += len(x.items)
			indexes = append(indexes, x)
		}
	}
	r.scan(&s, dir, file, indexes)
	for _, x := range indexes {
		x.compare(r, &s)
	}
	return s
}

// scan reads a log from its beginning to the first byte that is no record, and compares the indexes with it on the way.
func (r *Report) scan(s *Segment, dir host.Dir, file string, indexes []*index) {
	f, err := dir.Open(fileName(s.Base, logSuffix))
	if err != nil {
		r.problem(Damage, Unreadable, file, 0, "%v", err)
		return
	}
	defer f.Close() //nolint:errcheck // it was only read
	in := reader{f: f}
	if in.size, err = f.Size(); err != nil {
		r.problem(Damage, Unreadable, file, 0, "%v", err)
		return
	}
	severity, class := Doubt, TornTail
	if s.Sealed {
		severity, class = Damage, Rot
	}
	for in.at < in.size {
		record, size, err := in.record()
		if err != nil {
			if errors.Is(err, message.ErrCorrupt) {
				r.problem(severity, class, file, in.at, "no whole record: %v; %d bytes of the file are behind it", err, in.size-in.at)
			} else {
				r.problem(Damage, Unreadable, file, in.at, "%v", err)
			}
			return
		}
		if record.Cursor != s.Next {
			r.problem(Damage, Gap, file, in.at, "a record of cursor %d, where %d is next", record.Cursor, s.Next)
			return
		}
		if record.Filler {
			s.Fillers++
		} else if !r.message(s, file, in.at, record, indexes) {
			return
		}
		in.at += size
		s.Bytes = in.at
	}
}

// message takes up one message.
func (r *Report) message(s *Segment, file string, at int64, record message.Record, indexes []*index) bool {
	time, err := message.NewestTime(record.Payload)
	if err != nil {
		r.problem(Damage, BadMessage, file, at, "message %d: %v", record.Cursor, err)
		return false
	}
	for _, x := range indexes {
		x.meet(r, record.Cursor, at, s.Newest)
	}
	s.Newest = max(s.Newest, time)
	s.Next++
	return true
}

// reader reads records one after the other.
type reader struct {
	f      host.File
	size   int64
	at     int64
	buffer []byte
	from   int64
}

const readAtOnce = 1 << 20

// record returns the record at the reader's place, which is good until the next call.
func (in *reader) record() (message.Record, int64, error) {
	head, err := in.bytes(message.HeaderBytes)
	if err != nil {
		return message.Record{}, 0, err
	}
	size := message.PeekSize(head)
	if size < message.HeaderBytes || in.at+size > in.size {
		return message.Record{}, 0, message.ErrCorrupt
	}
	p, err := in.bytes(size)
	if err != nil {
		return message.Record{}, 0, err
	}
	return message.Decode(p)
}

// bytes returns the next n bytes of the file.
func (in *reader) bytes(n int64) ([]byte, error) {
	if in.at+n > in.size {
		return nil, message.ErrCorrupt
	}
	if off := in.at - in.from; off >= 0 && off+n <= int64(len(in.buffer)) {
		return in.buffer[off : off+n], nil
	}
	length := min(max(n, readAtOnce), in.size-in.at)
	in.buffer, in.from = slices.Grow(in.buffer[:0], int(length))[:length], in.at
	if _, err := host.ReadFull(in.f, in.buffer, in.at); err != nil {
		in.buffer = nil
		return nil, err
	}
	return in.buffer[:n], nil
}

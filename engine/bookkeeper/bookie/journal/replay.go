package journal

import (
	"errors"
	"fmt"
	"io"

	"lakebed/engine/host"
	"lakebed/engine/record"
)

// Replayed says what Replay found.
type Replayed struct {
	Last      uint64 // highest sequence found or covered by the mark
	Groups    int    // handed out
	Clean     bool   // the journal ends with a footer: nothing can be missing
	Undecided bool   // the last group is bad and may have been acknowledged
}

// Apply is given every record behind the mark, in order. The body is valid during the call.
type Apply func(kind record.Kind, body []byte) error

// Replay hands out what is behind the mark. It may be called again from the start after a failure to read.
func (j *Journal) Replay(mark Mark, apply Apply) (Replayed, error) {
	r := replay{journal: j, mark: mark, apply: apply, found: Replayed{Last: mark.Sequence}}
	files, err := j.from(mark)
	if err != nil {
		return r.found, err
	}
	r.expected = mark.First
	if mark.File == 0 {
		r.expected = 1
	}
	for i := range files {
		if err := r.file(&files[i]); err != nil {
			return r.found, fmt.Errorf("replay journal file %s: %w", FileName(files[i].id), err)
		}
	}
	if r.torn != nil {
		r.settleTear()
	}
	return r.found, nil
}

// from returns the files that replay needs, and checks that none is missing.
func (j *Journal) from(mark Mark) ([]fileInfo, error) {
	files := j.files
	for len(files) > 0 && files[0].id < mark.File {
		files = files[1:]
	}
	want := max(mark.File, 1)
	for i, f := range files {
		if f.id != want+uint64(i) {
			return nil, fmt.Errorf("journal file %s is missing: %w", FileName(want+uint64(i)), record.ErrCorrupt)
		}
	}
	if len(files) == 0 && mark.File != 0 {
		return nil, fmt.Errorf("journal file %s is missing: %w", FileName(mark.File), record.ErrCorrupt)
	}
	return files, nil
}

// replay is one walk over the files.
type replay struct {
	journal  *Journal
	mark     Mark
	apply    Apply
	found    Replayed
	scanner  record.Scanner
	expected uint64 // sequence of the next group
	torn     error  // a bad group was met; nothing may follow that knows it as durable
}

func (r *replay) file(info *fileInfo) error {
	f, err := r.journal.dir.Open(FileName(info.id))
	if err != nil {
		return err
	}
	defer f.Close()
	header, err := r.scanner.ReadFileHeader(f, Kind())
	if err != nil {
		return err
	}
	if header.ID != info.id {
		return fmt.Errorf("header says file %016x: %w", header.ID, record.ErrCorrupt)
	}
	size, err := f.Size()
	if err != nil {
		return err
	}
	r.scanner.Reset(f, header, size)
	if r.torn == nil {
		r.scanner.Expect(r.expected)
	}
	info.first = r.expected
	err = r.groups(&r.scanner)
	info.last = r.expected - 1
	return err
}

// groups walks the groups of one file to its end.
func (r *replay) groups(s *record.Scanner) error {
	for {
		view, err := s.Next()
		switch {
		case err == nil:
			if done, err := r.group(view); done || err != nil {
				return err
			}
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, record.ErrTornTail):
			if r.torn == nil {
				r.torn = err
			}
			return nil
		default:
			return err
		}
	}
}

// group handles one valid group; done means that the rest of the file does not count.
func (r *replay) group(v *record.View) (done bool, err error) {
	if r.torn != nil {
		if v.DurableThrough >= r.expected {
			return true, fmt.Errorf("group %d knows group %d as durable, which is bad (%w): %w",
				v.Sequence, r.expected, r.torn, record.ErrCorrupt)
		}
		return true, nil // written behind a group that never became durable, without having been synced itself
	}
	r.expected = v.Sequence + 1
	r.found.Clean = v.Footer
	r.found.Last = max(r.found.Last, v.Sequence)
	if v.Sequence <= r.mark.Sequence {
		return v.Footer, nil
	}
	r.found.Groups++
	if err := v.Each(func(kind record.Kind, _ int64, body []byte) error { return r.apply(kind, body) }); err != nil {
		return true, fmt.Errorf("apply group %d: %w", v.Sequence, err)
	}
	r.journal.h.Probe().Mark(host.Event{Name: PointReplayedGroup, A: int64(v.Sequence)})
	return v.Footer, nil // nothing is ever written behind a footer
}

// settleTear says what a bad last group means: nothing, if the mark covers it.
func (r *replay) settleTear() {
	r.found.Clean = false
	r.journal.h.Probe().Mark(host.Event{Name: PointTornTail, A: int64(r.expected)})
	if r.expected <= r.mark.Sequence {
		return
	}
	r.found.Undecided = true
	r.journal.h.Probe().Mark(host.Event{Name: PointUndecided, A: int64(r.expected)})
	r.journal.h.Log(host.Warn, "the journal's last group is bad: what it held is unknown",
		host.F("sequence", r.expected), host.F("cause", r.torn))
}

package commitlog

import (
	"errors"
	"fmt"

	"lakebed/engine/commitlog/message"
	"lakebed/engine/commitlog/series"
)

// errWalked says that a walk has come to its limit.
var errWalked = errors.New("end of the walk")

// walker reads the records of the log one after the other.
type walker struct {
	log    *series.Series
	at     int64 // of the next record
	limit  int64 // nothing behind it is looked at
	chunk  int   // bytes read at once
	buffer []byte
	from   int64 // offset of the buffer's first byte
}

// next returns the next record, whose parts are good until the next call. errWalked: that was all. message.ErrCorrupt and
// message.ErrElsewhere: what lies there is no record of the log, and the walk stays there.
func (w *walker) next() (message.Message, error) {
	for {
		if w.at >= w.limit {
			return message.Message{}, errWalked
		}
		fileEnd := w.log.FileEnd(w.at)
		head, err := w.bytes(message.BlankBytes, fileEnd)
		if err != nil {
			return message.Message{}, err
		}
		kind, size := message.Peek(head)
		switch {
		case kind == message.Blank && w.at+size <= fileEnd: // behind a group, or the rest of the file
			if err := message.CheckBlank(head, w.at); err != nil {
				return message.Message{}, err
			}
			w.at += size
			continue
		case kind == message.Record && w.at+size+message.BlankBytes <= fileEnd && w.at+size <= w.limit:
		default:
			return message.Message{}, fmt.Errorf("at %d of the log: %w", w.at, message.ErrCorrupt)
		}
		p, err := w.bytes(size, fileEnd)
		if err != nil {
			return message.Message{}, err
		}
		m, err := message.Decode(p, w.at)
		if err == nil {
			w.at += size
		}
		return m, err
	}
}

// bytes returns the next n bytes, which end at fileEnd at the latest.
func (w *walker) bytes(n, fileEnd int64) ([]byte, error) {
	if w.at+n > min(fileEnd, w.limit) {
		return nil, fmt.Errorf("at %d of the log: %w", w.at, message.ErrCorrupt)
	}
	if off := w.at - w.from; off >= 0 && off+n <= int64(len(w.buffer)) {
		return w.buffer[off : off+n], nil
	}
	length := min(max(n, int64(w.chunk)), fileEnd-w.at, w.limit-w.at)
	if int64(cap(w.buffer)) < length {
		w.buffer = make([]byte, length)
	}
	w.buffer, w.from = w.buffer[:length], w.at
	if err := w.log.ReadAt(w.buffer, w.at); err != nil {
		w.buffer = w.buffer[:0]
		return nil, err
	}
	return w.buffer[:n], nil
}

// noRecord reports whether an error of next says that there is no record.
func noRecord(err error) bool {
	return errors.Is(err, message.ErrCorrupt) || errors.Is(err, message.ErrElsewhere)
}

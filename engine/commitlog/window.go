package commitlog

import "lakebed/engine/commitlog/series"

// window is the read-ahead of one pull (R4-28…R4-30): while messages lie together in the log, one read fetches what follows,
// too, and twice as much each time; where they lie apart it fetches no more than asked for. Upstream leaves this to the
// kernel, which does not know where the next message is (C-16).
type window struct {
	log   *series.Series
	first int64 // bytes of the first window behind a message
	most  int64
	limit int64 // nothing behind it is read: it is being written

	buffer []byte
	from   int64
	ahead  int64 // of the next window
}

// read returns size bytes at off. They are not overwritten by later reads.
func (w *window) read(off, size int64) ([]byte, error) {
	if at := off - w.from; at >= 0 && at+size <= int64(len(w.buffer)) {
		return w.buffer[at : at+size : at+size], nil
	}
	if end := w.from + int64(len(w.buffer)); len(w.buffer) > 0 && off >= w.from && off <= end {
		w.ahead = min(max(2*w.ahead, w.first), w.most)
	} else {
		w.ahead = min(w.first, w.most)
	}
	length := min(max(size, w.ahead), w.log.FileEnd(off)-off, max(w.limit-off, size))
	w.buffer, w.from = make([]byte, length), off
	if err := w.log.ReadAt(w.buffer, off); err != nil {
		w.buffer = nil
		return nil, err
	}
	return w.buffer[:size:size], nil
}

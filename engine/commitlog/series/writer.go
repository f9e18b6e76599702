package series

import (
	"fmt"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// Writer writes to the end of the series. It keeps the file that it wrote to last in use, so that a write takes the series'
// lock only when it comes to another file. One task uses it at a time.
type Writer struct {
	series *Series
	file   *file // nil: none yet
	buffer [1][]byte
}

// Writer returns a writer. Close follows, before that of the series.
func (s *Series) Writer() *Writer { return &Writer{series: s} }

// WriteAt writes p, which lies in one file that was awaited.
func (w *Writer) WriteAt(p []byte, off int64) error {
	s := w.series
	if w.file == nil || s.baseOf(off) != w.file.base {
		f, err := s.use(off)
		if err != nil {
			return err
		}
		w.Close()
		w.file = f
		if s.config.MappedWrites {
			host.WriteThroughMemory(f.File)
		}
	}
	at := off - w.file.base
	invariant.Check(at+int64(len(p)) <= s.config.FileBytes, "a write stays within its file")
	w.buffer[0] = p
	_, err := host.WriteFull(w.file.File, w.buffer[:], at)
	w.buffer[0] = nil
	if err != nil {
		return fmt.Errorf("write %d bytes of the log at %d: %w", len(p), off, err)
	}
	return nil
}

// Close gives the file back.
func (w *Writer) Close() {
	if w.file != nil {
		w.series.release(w.file)
		w.file = nil
	}
}

package campaign

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// logFile is where a campaign keeps its lines while it runs.
type logFile struct {
	path string
	file *os.File
}

// append writes a line with one call: a campaign that is killed leaves whole lines, or a last one without an end.
func (f *logFile) append(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = f.file.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("%w: write to the log: %w", ErrEnvironment, err)
	}
	return nil
}

func (f *logFile) close() error {
	err := f.file.Sync()
	if closed := f.file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("%w: finish the log: %w", ErrEnvironment, err)
	}
	return nil
}

// openLog opens a log to go on with, or begins one. Nobody else can have it open like this until it is closed or its
// process is gone. It returns what the log holds; a torn last line is cut.
func openLog(path string) (*logFile, *logged, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if errors.Is(err, syscall.EISDIR) {
		return nil, nil, fmt.Errorf("%w: %s is a directory", ErrUsage, path)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: open the log: %w", ErrEnvironment, err)
	}
	f := &logFile{path, file}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("%w: %s is in use by another campaign: %w", ErrUsage, path, err)
	}
	found, err := scanLog(path, file)
	if err == nil && found.torn > 0 {
		if err = file.Truncate(found.whole); err != nil {
			err = fmt.Errorf("%w: cut the torn end of the log: %w", ErrEnvironment, err)
		}
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return f, found, nil
}

// readLog reads a log that nobody is to go on with.
func readLog(path string) (*logged, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no file %s", ErrUsage, path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: read a log: %w", ErrEnvironment, err)
	}
	defer file.Close()
	found, err := scanLog(path, file)
	if err == nil && found.book == nil {
		return nil, fmt.Errorf("%w: %s is empty", ErrUsage, path)
	}
	return found, err
}

// ReadHeader reads what the campaign of a log is.
func ReadHeader(path string) (Header, error) {
	found, err := readLog(path)
	if err != nil {
		return Header{}, err
	}
	return found.book.header, nil
}

// headerBegin is what each log begins with.
var headerBegin = []byte(`{"kind":"header",`)

// logged is what a log holds.
type logged struct {
	book    *book    // nil: there was not even a header
	closing *closing // nil: the campaign did not come to its end
	whole   int64    // bytes of whole lines
	torn    int64    // bytes behind them
	last    line     // the last answer
}

// scanLog reads whole lines to the end. A line that has its end and makes no sense is damage, and nothing to cut.
func scanLog(path string, file io.Reader) (*logged, error) {
	found := &logged{}
	lines := bufio.NewReaderSize(file, logBufferBytes)
	for number := 1; ; number++ {
		text, err := readLine(lines)
		if err == io.EOF {
			found.torn = int64(len(text))
			if found.book == nil && !bytes.HasPrefix(text, headerBegin) && !bytes.HasPrefix(headerBegin, text) {
				return nil, fmt.Errorf("%w: %s is no log of a campaign", ErrUsage, path) // and not ours to cut
			}
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: read the log %s: %w", ErrEnvironment, path, err)
		}
		if err := found.take(text); err != nil {
			return nil, fmt.Errorf("%w: %s is no log of a campaign, or is damaged: line %d: %w", ErrUsage, path, number, err)
		}
		found.whole += int64(len(text))
	}
}

// readLine reads to the end of a line, or as far as there is anything.
func readLine(lines *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		piece, err := lines.ReadSlice('\n')
		text = append(text, piece...)
		if err != bufio.ErrBufferFull {
			return text, err
		}
		if len(text) > lineMaxBytes {
			return nil, fmt.Errorf("a line of more than %d bytes", lineMaxBytes)
		}
	}
}

func (l *logged) take(text []byte) error {
	var kind struct {
		Kind lineKind `json:"kind"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return err
	}
	switch {
	case l.closing != nil:
		return errors.New("something stands behind the summary")
	case l.book == nil:
		var h Header
		if err := strictly(text, &h); err != nil {
			return err
		}
		if err := h.check(); err != nil {
			return err
		}
		l.book = newBook(h, newTally(h, nil))
		return nil
	case kind.Kind == summaryLine:
		l.closing = &closing{}
		return strictly(text, l.closing)
	}
	l.last = line{}
	if err := strictly(text, &l.last); err != nil {
		return err
	}
	l.book.tally.spent(l.last.CPU)
	_, err := l.book.count(&l.last)
	return err
}

// strictly decodes one JSON value, all of whose fields must be known.
func strictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("something stands behind it")
	}
	return nil
}

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"golang.org/x/sys/unix"

	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/record"
)

// rawLine is the fastest that group commit can be on this disk: one pwritev and one fdatasync a group, nothing else,
// into a file whose blocks have been written before.
type rawLine struct {
	file       *os.File
	descriptor int
	path       string
	bytes      int64
	offset     int64
	source     *source
	vectors    [][]byte
}

const zeroBytes = 1 << 20 // written at a time when a file is filled

// withOneBuffer is a raw line on the same file whose bytes come from a single buffer of size bytes, again and again.
func (r *rawLine) withOneBuffer(size int64) *rawLine {
	hot := *r
	hot.source, hot.vectors = &source{bytes: r.source.bytes[:size]}, nil
	return &hot
}

// newRawLine makes the file as the journal makes its own: a header page, zeros to the end, bytes and name synced.
func newRawLine(dir string, fileBytes int64, seed uint64) (*rawLine, error) {
	path := filepath.Join(dir, "raw-line")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make the raw line's file: %w", err)
	}
	r := &rawLine{
		file: f, descriptor: int(f.Fd()), path: path, bytes: fileBytes, offset: record.FileHeaderBytes,
		source: newSource(sourceBytes, seed),
	}
	if err := r.fill(); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("fill the raw line's file: %w", err)
	}
	return r, nil
}

func (r *rawLine) fill() error {
	header := record.FileHeader{Kind: journal.Kind(), ID: 1, Identity: 1}
	if _, err := r.file.WriteAt(header.Encode(), 0); err != nil {
		return err
	}
	zeros := make([]byte, zeroBytes)
	for at := int64(record.FileHeaderBytes); at < r.bytes; at += zeroBytes {
		if _, err := r.file.WriteAt(zeros[:min(zeroBytes, r.bytes-at)], at); err != nil {
			return err
		}
	}
	if err := unix.Fdatasync(r.descriptor); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(r.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// rawRound is one round of the raw line.
type rawRound struct {
	bytes   int64
	groups  int
	elapsed time.Duration
	cpu     time.Duration
}

// replay writes the groups once, in their order.
func (r *rawLine) replay(groups []int64) (rawRound, error) {
	return r.run(groups, 0)
}

// run writes the groups in their order, at least once, and again until the length is over. The label keeps the raw
// line apart in a profile of the processor.
func (r *rawLine) run(groups []int64, length time.Duration) (done rawRound, err error) {
	pprof.Do(context.Background(), pprof.Labels("line", "raw"), func(context.Context) {
		before, begun := usageNow(), time.Now()
		for {
			for _, size := range groups {
				if err = r.group(size); err != nil {
					return
				}
				done.bytes += size
				done.groups++
				if length > 0 && time.Since(begun) >= length {
					break
				}
			}
			if done.elapsed = time.Since(begun); done.elapsed >= length {
				break
			}
		}
		done.cpu = usageNow().since(before).cpu
	})
	return done, err
}

// group writes and syncs one group; where the file ends, it goes on at the start.
func (r *rawLine) group(size int64) error {
	if r.offset+size > r.bytes {
		r.offset = record.FileHeaderBytes
	}
	r.vectors = r.source.takeVectors(r.vectors[:0], int(size))
	vectors := r.vectors
	for at := r.offset; len(vectors) > 0; {
		n, err := rawWrite(r.descriptor, vectors, at)
		if err != nil {
			return fmt.Errorf("raw line: write %d bytes at %d: %w", size, at, err)
		}
		at += int64(n)
		vectors = after(vectors, n)
	}
	r.offset += size
	if err := rawSync(r.descriptor); err != nil {
		return fmt.Errorf("raw line: sync: %w", err)
	}
	return nil
}

// after is what is left of the vectors behind their first n bytes.
func after(vectors [][]byte, n int) [][]byte {
	for len(vectors) > 0 && n >= len(vectors[0]) {
		n -= len(vectors[0])
		vectors = vectors[1:]
	}
	if n > 0 {
		vectors[0] = vectors[0][n:]
	}
	return vectors
}

func (r *rawLine) close() error { return r.file.Close() }

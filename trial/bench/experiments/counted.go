package experiments

import (
	"sync/atomic"

	"lakebed/engine/host"
)

// tally counts what a store reads of its files.
type tally struct {
	reads, bytes atomic.Int64
}

// since is what was read since an earlier look.
func (t *tally) since(reads, bytes int64) (int64, int64) {
	return t.reads.Load() - reads, t.bytes.Load() - bytes
}

func (t *tally) now() (reads, bytes int64) { return t.reads.Load(), t.bytes.Load() }

// counted is a host whose files' reads are counted.
type counted struct {
	host.Host
	tally *tally
}

// Disk wraps a volume.
func (h counted) Disk(volume string) (host.Dir, error) {
	dir, err := h.Host.Disk(volume)
	return countedDir{dir, h.tally}, err
}

type countedDir struct {
	host.Dir
	tally *tally
}

func (d countedDir) Sub(name string) (host.Dir, error) {
	dir, err := d.Dir.Sub(name)
	return countedDir{dir, d.tally}, err
}

func (d countedDir) Create(name string) (host.File, error) { return d.wrap(d.Dir.Create(name)) }

func (d countedDir) Open(name string) (host.File, error) { return d.wrap(d.Dir.Open(name)) }

func (d countedDir) wrap(f host.File, err error) (host.File, error) {
	if err != nil {
		return nil, err
	}
	return countedFile{f, d.tally}, nil
}

type countedFile struct {
	host.File
	tally *tally
}

func (f countedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.tally.reads.Add(1)
	f.tally.bytes.Add(int64(n))
	return n, err
}

package series

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

var (
	// ErrGone says that the bytes were removed.
	ErrGone = errors.New("removed from the log")
	// ErrBroken says that the files do not make up a range: one is missing or has a wrong size.
	ErrBroken = errors.New("log files are not complete")
)

const nameDigits = 20

// FileName is the name of the file whose first byte has this offset.
func FileName(base int64) string { return fmt.Sprintf("%0*d", nameDigits, base) }

// ParseFileName reads the offset out of a file's name.
func ParseFileName(name string) (int64, bool) {
	if len(name) != nameDigits {
		return 0, false
	}
	base, err := strconv.ParseInt(name, 10, 64)
	return base, err == nil && base >= 0 && FileName(base) == name
}

// Series is the open row of files.
type Series struct {
	h      host.Host
	dir    host.Dir
	config Config

	tasks   host.Group
	mutex   host.Mutex
	changed host.Cond // a file was made, could not be made, is wanted, or was let go
	files   []*file   // ascending, without gaps
	short   bool      // the last one is shorter than the others
	present int64     // offset behind the last byte there was when it was opened
	wanted  int64     // offset that must lie in a file
	refused error     // why the file that is wanted could not be made
	spares  []string

	mapping host.Mutex // guards what follows, and is held while a file is mapped
	mapped  []*file    // in the order in which they were
}

// file is one open file. users is guarded by the series' mutex.
type file struct {
	host.File
	base  int64
	users int
	gone  bool // removed: whoever uses it last closes it

	mapping  host.Mapping // nil: not mapped. This and mapUsers are guarded by the series' mutex of mappings
	mapUsers int
}

// Open opens the files of a directory. Start follows. What it finds there is made durable first: a process that was killed may have
// removed a file, or named one, and no more, and a power cut would undo that when this one has built on it: cut the file before, or written.
func Open(h host.Host, dir host.Dir, config Config) (*Series, error) {
	s := &Series{h: h, dir: dir, config: config, mutex: h.NewMutex("series"), mapping: h.NewMutex("series-mapping")}
	if err := dir.SyncDir(); err != nil {
		return nil, fmt.Errorf("sync the directory of log files: %w", err)
	}
	infos, err := dir.List()
	if err != nil {
		return nil, fmt.Errorf("list log files: %w", err)
	}
	if err := s.removeUnfinished(infos); err != nil {
		return nil, err
	}
	for _, info := range infos {
		base, ok := ParseFileName(info.Name)
		if !ok || info.Dir {
			continue
		}
		if err := s.openFile(base, info); err != nil {
			return nil, errors.Join(err, s.closeFiles())
		}
	}
	if err := s.adoptSpares(infos); err != nil {
		return nil, errors.Join(err, s.closeFiles())
	}
	return s, nil
}

// openFile adds the next file of a listing, which is sorted.
func (s *Series) openFile(base int64, info host.Info) error {
	switch {
	case base%s.config.FileBytes != 0:
		return fmt.Errorf("file %s does not begin at a multiple of the file size %d: %w", info.Name, s.config.FileBytes, ErrBroken)
	case len(s.files) > 0 && base != s.Limit():
		return fmt.Errorf("file %s is missing before %s: %w", FileName(s.Limit()), info.Name, ErrBroken)
	case s.short:
		return fmt.Errorf("file %s is not the last one and too short: %w", FileName(base-s.config.FileBytes), ErrBroken)
	case info.Size > s.config.FileBytes:
		return fmt.Errorf("file %s has %d bytes, more than %d: %w", info.Name, info.Size, s.config.FileBytes, ErrBroken)
	}
	f, err := s.dir.Open(info.Name)
	if err != nil {
		return fmt.Errorf("open log file %s: %w", info.Name, err)
	}
	s.files = append(s.files, s.advised(&file{File: f, base: base}))
	s.short, s.present = info.Size < s.config.FileBytes, base+info.Size
	return nil
}

// removeUnfinished deletes what a crash left of files that were being prepared.
func (s *Series) removeUnfinished(infos []host.Info) error {
	for _, info := range infos {
		name, unfinished := strings.CutSuffix(info.Name, host.UnfinishedSuffix)
		if _, ok := ParseFileName(name); !ok || !unfinished {
			continue
		}
		if err := s.dir.Remove(info.Name); err != nil {
			return fmt.Errorf("remove unfinished log file %s: %w", info.Name, err)
		}
	}
	return nil
}

// Start begins to make files ahead, so that end lies in one and another follows. A series without files begins at the
// file that end lies in.
func (s *Series) Start(g host.Group, end int64) {
	s.tasks = g.New("series")
	s.changed = s.tasks.NewCond(s.mutex)
	s.wanted = s.baseOf(end) + s.config.FileBytes
	s.tasks.Go("series-prepare", s.prepare)
}

// Empty reports whether there are no files.
func (s *Series) Empty() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.files) == 0
}

// Short reports whether Cut has to be called again: a crash came between its two halves.
func (s *Series) Short() bool { return s.short }

// Present is the offset behind the last byte that there was when the series was opened.
func (s *Series) Present() int64 { return s.present }

// First is the smallest offset there is. Of a series without files it is 0.
func (s *Series) First() int64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.files) == 0 {
		return 0
	}
	return s.files[0].base
}

// Limit is the offset behind the last file.
func (s *Series) Limit() int64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.limit()
}

func (s *Series) limit() int64 {
	if len(s.files) == 0 {
		return 0
	}
	return s.files[len(s.files)-1].base + s.config.FileBytes
}

func (s *Series) baseOf(off int64) int64 { return off - off%s.config.FileBytes }

// FileEnd is the offset behind the file that off lies in.
func (s *Series) FileEnd(off int64) int64 { return s.baseOf(off) + s.config.FileBytes }

// use keeps the file that off lies in open until release.
func (s *Series) use(off int64) (*file, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.files) == 0 || off < s.files[0].base {
		return nil, fmt.Errorf("offset %d: %w", off, ErrGone)
	}
	i := (off - s.files[0].base) / s.config.FileBytes
	invariant.Check(i < int64(len(s.files)), "an offset that is used lies in a file")
	s.files[i].users++
	return s.files[i], nil
}

func (s *Series) release(f *file) {
	s.mutex.Lock()
	f.users--
	last := f.gone && f.users == 0
	s.mutex.Unlock()
	if last {
		_ = s.shut(f) // its name is gone, nobody will ask for what it holds
	}
}

// ReadAt fills p, which lies in one file. io.ErrUnexpectedEOF: the file is too short. ErrGone: it was removed.
func (s *Series) ReadAt(p []byte, off int64) error {
	f, err := s.use(off)
	if err != nil {
		return err
	}
	defer s.release(f)
	if _, err := host.ReadFull(f, p, off-f.base); err != nil {
		return fmt.Errorf("read %d bytes of the log at %d: %w", len(p), off, err)
	}
	return nil
}

// WriteAt writes p, which lies in one file that was awaited.
func (s *Series) WriteAt(p []byte, off int64) error {
	f, err := s.use(off)
	if err != nil {
		return err
	}
	defer s.release(f)
	invariant.Check(off-f.base+int64(len(p)) <= s.config.FileBytes, "a write stays within its file")
	if err := host.WriteFullAt(f, p, off-f.base); err != nil {
		return fmt.Errorf("write %d bytes of the log at %d: %w", len(p), off, err)
	}
	return nil
}

// Sync makes the bytes from one offset to another durable. Nothing is known about them after a failure.
func (s *Series) Sync(from, to int64) error {
	for at := from; at < to; at = s.FileEnd(at) {
		f, err := s.use(at)
		if err != nil {
			return err
		}
		err = f.Sync()
		s.release(f)
		if err != nil {
			return fmt.Errorf("sync log file %s: %w", FileName(f.base), err)
		}
	}
	return nil
}

// Close ends the making of files and closes them all.
func (s *Series) Close() error {
	if s.tasks != nil {
		s.tasks.Stop()
		s.tasks.Wait()
	}
	return s.closeFiles()
}

func (s *Series) closeFiles() error {
	var failed error
	for _, f := range s.files {
		failed = errors.Join(failed, s.shut(f))
	}
	return failed
}

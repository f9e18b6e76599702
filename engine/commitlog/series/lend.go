package series

import (
	"errors"
	"fmt"
	"slices"

	"lakebed/engine/host"
)

// ErrNoMapping says that as many files are mapped and in use as may be, or that the machine maps none.
var ErrNoMapping = errors.New("no more log files can be mapped")

// Piece is a file of the log in the hands of one who reads it in his own way.
type Piece struct {
	series *Series
	file   *file
	mapped bool
}

// Lend keeps the file that off lies in open until Release. ErrGone: it was removed.
func (s *Series) Lend(off int64) (*Piece, error) {
	f, err := s.use(off)
	if err != nil {
		return nil, err
	}
	return &Piece{series: s, file: f}, nil
}

// Base is the offset of the file's first byte.
func (p *Piece) Base() int64 { return p.file.base }

// File is the file itself.
func (p *Piece) File() host.File { return p.file.File }

// Release gives the file back, and its mapping.
func (p *Piece) Release() {
	if p.mapped {
		p.series.mapping.Lock()
		p.file.mapUsers--
		p.series.mapping.Unlock()
	}
	p.series.release(p.file)
}

// Mapping is the whole file. It is mapped when it is first asked for, and stays mapped until it is removed or others need the
// place: to map and unmap with every read costs more than to copy.
func (p *Piece) Mapping() (host.Mapping, error) {
	s, f := p.series, p.file
	s.mapping.Lock()
	defer s.mapping.Unlock()
	if f.mapping == nil {
		if len(s.mapped) >= s.config.MappedFilesMax && !s.unmapIdle() {
			return nil, fmt.Errorf("map log file %s: %d are mapped: %w", FileName(f.base), len(s.mapped), ErrNoMapping)
		}
		mapper, ok := f.File.(host.Mapper)
		if !ok {
			return nil, fmt.Errorf("map log file %s: the machine maps no files: %w", FileName(f.base), ErrNoMapping)
		}
		m, err := mapper.Map(0, s.config.FileBytes)
		if err != nil {
			return nil, fmt.Errorf("map log file %s: %w", FileName(f.base), err)
		}
		m.Advise(host.Span{}, s.config.Advice)
		f.mapping = m
		s.mapped = append(s.mapped, f)
	}
	if !p.mapped {
		p.mapped = true
		f.mapUsers++
	}
	return f.mapping, nil
}

// unmapIdle makes room for one mapping: the oldest one that nobody uses goes. False: all are in use.
func (s *Series) unmapIdle() bool {
	for _, f := range s.mapped {
		if f.mapUsers == 0 {
			s.unmap(f)
			return true
		}
	}
	return false
}

// unmap ends the mapping of a file, if it has one. The mutex of mappings is held.
func (s *Series) unmap(f *file) {
	if f.mapping == nil {
		return
	}
	_ = f.mapping.Unmap() // it fails for none but a mapping that was unmapped
	f.mapping = nil
	s.mapped = slices.DeleteFunc(s.mapped, func(each *file) bool { return each == f })
}

// shut closes a file that nobody uses.
func (s *Series) shut(f *file) error {
	s.mapping.Lock()
	s.unmap(f)
	s.mapping.Unlock()
	return f.Close()
}

// advised is a file that knows how it will be read.
func (s *Series) advised(f *file) *file {
	if s.config.Advice != host.AdviseNormal {
		host.Advise(f.File, host.Span{}, s.config.Advice)
	}
	return f
}

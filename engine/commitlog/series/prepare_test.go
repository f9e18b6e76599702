package series

import (
	"errors"
	"testing"

	"lakebed/engine/host"
)

// volume is a directory, and a file in it, that says how much is free and counts what is asked of it.
type volume struct {
	host.Dir
	host.File
	free  int64
	err   error
	asked int64
}

func (v *volume) Usage() (free, total int64, err error) { return v.free, 1 << 40, v.err }

func (v *volume) Allocate(_, bytes int64) error {
	v.asked += bytes
	return nil
}

func (v *volume) WriteBuffersAt(buffers [][]byte, _ int64) (n int64, err error) {
	for _, p := range buffers {
		n += int64(len(p))
	}
	v.asked += n
	return n, nil
}

// TestAFileThatDoesNotFitTakesNoSpace: a volume allocates all that it has before it says that it has too little, and others on it would
// have none, again and again. So it is asked before. What it does not know is tried.
func TestAFileThatDoesNotFitTakesNoSpace(t *testing.T) {
	const fileBytes, already = 1 << 20, 1 << 16
	for _, mode := range []Preallocation{Fallocated, ZeroFilled, Recycled} {
		for _, c := range []struct {
			name string
			volume
			want  error
			asked int64
		}{
			{"room for all but a byte", volume{free: fileBytes - already - 1}, host.ErrNoSpace, 0},
			{"room for all", volume{free: fileBytes - already}, nil, fileBytes - already},
			{"unknown", volume{err: errors.New("no such call")}, nil, fileBytes - already},
		} {
			v := c.volume
			s := &Series{dir: &v, config: Config{FileBytes: fileBytes, Preallocation: mode}}
			if err := s.fill(&v, already); !errors.Is(err, c.want) || v.asked != c.asked {
				t.Errorf("%v, %s: %v, %d bytes asked for, want %v and %d", mode, c.name, err, v.asked, c.want, c.asked)
			}
		}
	}
}

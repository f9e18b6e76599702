package oshost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"lakebed/engine/host"
)

// lockName is the file in a directory that carries its lock. It stays behind when the lock is released: to remove it
// would let two nodes hold locks on two files of the same name.
const lockName = "LOCK"

// lockSet is the directory locks that a host holds, so that Close can give up those the node forgot.
type lockSet struct {
	mutex sync.Mutex
	held  map[*os.File]struct{}
}

func (s *lockSet) add(f *os.File) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.held == nil {
		s.held = make(map[*os.File]struct{})
	}
	s.held[f] = struct{}{}
}

// release gives up f once, however often it is called: closing the only descriptor drops the flock.
func (s *lockSet) release(f *os.File) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, ok := s.held[f]; ok {
		delete(s.held, f)
		f.Close()
	}
}

func (s *lockSet) releaseAll() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for f := range s.held {
		f.Close()
	}
	clear(s.held)
}

func (d *dir) Lock() (release func(), err error) {
	f, err := lockDirectory(d.path)
	if err != nil {
		return nil, err
	}
	d.host.locks.add(f)
	return func() { d.host.locks.release(f) }, nil
}

// lockDirectory takes the lock and writes the process id into its file, for the message that the next one gets.
func lockDirectory(path string) (*os.File, error) {
	name := filepath.Join(path, lockName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, filePermissions)
	if err != nil {
		return nil, explain(err, "lock %s", path)
	}
	if err := flock(f); err != nil {
		holder := holderOf(f)
		f.Close()
		if err == unix.EWOULDBLOCK {
			return nil, fmt.Errorf("lock %s, held by %s: %w", path, holder, host.ErrLocked)
		}
		return nil, explain(err, "lock %s", path)
	}
	if !sameFile(f, name) {
		f.Close()
		return nil, fmt.Errorf("lock %s, which is being removed: %w", path, host.ErrLocked)
	}
	noteHolder(f)
	return f, nil
}

// flock locks the open file description, not the process: two nodes in one process exclude each other too.
func flock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !interrupted(err) {
			return err
		}
	}
}

// sameFile reports whether name still leads to f. removeUnlocked may have taken it away between open and flock.
func sameFile(f *os.File, name string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(name)
	return err == nil && os.SameFile(mine, named)
}

// noteHolder is for humans only, so a full disk must not keep a node from taking its lock: errors are dropped.
func noteHolder(f *os.File) {
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
}

func holderOf(f *os.File) string {
	var text [20]byte
	n, _ := f.ReadAt(text[:], 0)
	if pid := strings.TrimSpace(string(text[:n])); pid != "" {
		return "process " + pid
	}
	return "an unknown process"
}

// removeUnlocked removes a directory that is empty but for its lock file, which the engine does not know of. It takes
// the lock to do so. If there is more in the directory it returns notEmpty.
func (h *Host) removeUnlocked(path string, notEmpty error) error {
	rest, err := (&dir{host: h, path: path}).List()
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return notEmpty
	}
	f, err := lockDirectory(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := os.Remove(filepath.Join(path, lockName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Remove(path)
}

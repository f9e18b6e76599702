package openfiles_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/engine/openfiles"
	"lakebed/sim"
)

// inWorld runs f as the only task of a node.
func inWorld(t *testing.T, prepare func(n *sim.Node), f func(h host.Host) error) {
	t.Helper()
	w := sim.New(sim.Config{Seed: 1})
	n := w.NewNode("node")
	if prepare != nil {
		prepare(n)
	}
	n.Start(f)
	if v := w.Run(time.Hour); v.Failed() || n.BootErr() != nil {
		t.Fatalf("%s\n%v", v.String(), n.BootErr())
	}
}

// files opens and makes files of one directory.
type files struct {
	dir   host.Dir
	cache *openfiles.Cache
	opens int
}

func (f *files) open(name string) (*openfiles.Handle, error) {
	return f.cache.Open(openfiles.Key{Dir: "d", Name: name}, func() (host.File, error) {
		f.opens++
		file, err := f.dir.Open(name)
		if errors.Is(err, host.ErrNotExist) {
			return f.dir.Create(name)
		}
		return file, err
	})
}

func newFiles(h host.Host, limit int) (*files, error) {
	dir, err := h.Disk("data")
	return &files{dir: dir, cache: openfiles.New(h, h.Root(), limit)}, err
}

// TestTheLongestUnusedFileIsClosed: a cache of two keeps the two that were used last, and opens no file twice that it has.
func TestTheLongestUnusedFileIsClosed(t *testing.T) {
	inWorld(t, nil, func(h host.Host) error {
		f, err := newFiles(h, 2)
		if err != nil {
			return err
		}
		for _, step := range []struct {
			name  string
			opens int
		}{{"a", 1}, {"b", 2}, {"a", 2}, {"c", 3}, {"a", 3}, {"b", 4}, {"c", 5}} {
			handle, err := f.open(step.name)
			if err != nil {
				return err
			}
			if f.opens != step.opens {
				return fmt.Errorf("%d opens at %v", f.opens, step)
			}
			if f.cache.InHand() > 2 {
				return fmt.Errorf("%d files in hand", f.cache.InHand())
			}
			handle.Release()
		}
		return f.cache.Close()
	})
}

// TestAFileInUseIsNotClosed: who wants one more waits until it is given back.
func TestAFileInUseIsNotClosed(t *testing.T) {
	inWorld(t, nil, func(h host.Host) error {
		f, err := newFiles(h, 1)
		if err != nil {
			return err
		}
		first, err := f.open("a")
		if err != nil {
			return err
		}
		released := false
		tasks := h.Root().New("other")
		tasks.Go("other", func() {
			second, err := f.open("b")
			if err != nil || !released {
				t.Errorf("a second file while the first was in use: %v", err)
				return
			}
			second.Release()
		})
		h.Root().Sleep(time.Second)
		released = true
		if err := host.WriteFullAt(first, []byte("x"), 0); err != nil {
			return err
		}
		first.Release()
		tasks.Wait()
		if err := f.cache.Reserve(1); err != nil || f.cache.InHand() != 1 {
			return fmt.Errorf("a reserved place: %d in hand, %w", f.cache.InHand(), err)
		}
		f.cache.Give(1)
		return f.cache.Close()
	})
}

// TestADirtyFileIsSyncedBeforeItIsClosed, and if that fails, all who open it are told until it is forgotten. Seed 2079 of
// scenario segments told a reader, and the writer took the bytes for synced.
func TestADirtyFileIsSyncedBeforeItIsClosed(t *testing.T) {
	syncs := 0
	prepare := func(n *sim.Node) {
		n.Disk("data").SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if op.Kind != sim.DiskSync {
				return sim.DiskEffect{}
			}
			if syncs++; syncs == 2 {
				return sim.DiskEffect{Err: host.ErrIO, MarkClean: true}
			}
			return sim.DiskEffect{}
		})
	}
	inWorld(t, prepare, func(h host.Host) error {
		f, err := newFiles(h, 1)
		if err != nil {
			return err
		}
		for i, name := range []string{"a", "b", "b", "a"} {
			handle, err := f.open(name)
			if want := name == "b" && i == 2; i < 2 && err != nil || want {
				return fmt.Errorf("open %d of %s: %w", i, name, err)
			}
			handle.SetDirty(true)
			handle.Release()
			if i == 1 {
				break
			}
		}
		if syncs != 1 {
			return fmt.Errorf("%d syncs when one dirty file was closed", syncs)
		}
		if a, err := f.open("a"); err != nil { // closes b, whose sync fails
			return err
		} else {
			a.Release()
		}
		for range 2 {
			if _, err := f.open("b"); !errors.Is(err, host.ErrIO) || !errors.Is(err, openfiles.ErrNotSynced) {
				return fmt.Errorf("the failed sync of b was not told: %w", err)
			}
		}
		f.cache.Forget(openfiles.Key{Dir: "d", Name: "b"})
		b, err := f.open("b")
		if err != nil {
			return err
		}
		b.Release()
		return f.cache.Close()
	})
}

// TestAForgottenFileIsOpenedAnew: after a rename the name stands for another file; who still uses the old one may go on.
func TestAForgottenFileIsOpenedAnew(t *testing.T) {
	inWorld(t, nil, func(h host.Host) error {
		f, err := newFiles(h, 3)
		if err != nil {
			return err
		}
		old, err := f.open("a")
		if err != nil {
			return err
		}
		f.cache.Forget(openfiles.Key{Dir: "d", Name: "a"})
		fresh, err := f.open("a")
		if err != nil || f.opens != 2 {
			return fmt.Errorf("%d opens, %w", f.opens, err)
		}
		if _, err := old.Size(); err != nil {
			return err
		}
		old.Release()
		fresh.Release()
		if f.cache.InHand() != 1 {
			return fmt.Errorf("%d in hand", f.cache.InHand())
		}
		return f.cache.Close()
	})
}

// TestManyTasksShareFewFiles on real goroutines: each sees its own bytes in each file, and the bound holds.
func TestManyTasksShareFewFiles(t *testing.T) {
	config := oshost.Config{Volumes: map[string]string{"data": filepath.Join(t.TempDir(), "data")}}
	err := oshost.Run(t.Context(), config, func(h host.Host) error {
		dir, err := h.Disk("data")
		if err != nil {
			return err
		}
		const names, tasks, limit = 8, 6, 7
		for i := range names {
			file, err := dir.Create(fmt.Sprint(i))
			if err == nil {
				err = host.WriteFullAt(file, []byte{byte(i)}, 0)
			}
			if err == nil {
				err = file.Close()
			}
			if err != nil {
				return err
			}
		}
		cache := openfiles.New(h, h.Root(), limit)
		g := h.Root().New("users")
		for task := range tasks {
			g.Go("user", func() {
				for turn := range 300 {
					i := (turn*7 + task*3) % names
					key := openfiles.Key{Dir: "d", Name: fmt.Sprint(i)}
					file, err := cache.Open(key, func() (host.File, error) { return dir.Open(key.Name) })
					if err != nil {
						t.Error(err)
						return
					}
					var b [1]byte
					if _, err := file.ReadAt(b[:], 0); err != nil || b[0] != byte(i) {
						t.Errorf("file %d holds %d: %v", i, b[0], err)
					}
					file.SetDirty(turn%5 == 0)
					file.Release()
					if n := cache.InHand(); n > limit {
						t.Errorf("%d files in hand", n)
					}
				}
			})
		}
		g.Wait()
		return cache.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}

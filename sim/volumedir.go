package sim

import (
	"errors"
	"fmt"

	"lakebed/engine/host"
	"lakebed/sim/disk"
)

// dir is a host.Dir: the model's directory with time, faults and a process that may die.
type dir struct {
	process *process
	volume  *Volume
	inner   *disk.Dir
	path    volumePath
}

// dirLock is a directory that the process has locked. The end of the process releases it.
type dirLock struct{ release func() }

// begin performs an operation on a name of the directory up to the point where it takes effect.
func (d *dir) begin(kind DiskKind, path volumePath) error {
	_, err := d.perform(kind, path)
	return err
}

func (d *dir) perform(kind DiskKind, path volumePath) (DiskEffect, error) {
	effect := d.volume.perform(d.process, &path, kind, 0, 0, 0)
	if effect.Err == nil {
		return effect, nil
	}
	return effect, d.finish(kind, path, effect.Err)
}

// finish ends an operation. What it did is done; other tasks may go on before its caller learns the outcome.
func (d *dir) finish(kind DiskKind, path volumePath, err error) error {
	t := d.process.running()
	d.process.world.seeDiskEnd(t, kind, path.text, err)
	d.process.world.maybeYield(t, diskKindNames[kind], path.text)
	if err == nil {
		return nil
	}
	w := d.process.world
	switch {
	case errors.Is(err, host.ErrNoSpace):
		w.effect(EffectNoSpace)
	case errors.Is(err, host.ErrIO) && (kind == DiskList || kind == DiskOpen):
		w.effect(EffectReadError)
	case errors.Is(err, host.ErrIO) && kind == DiskSyncDir:
		w.effect(EffectSyncError)
	case errors.Is(err, host.ErrIO):
		w.effect(EffectWriteError)
	}
	return fmt.Errorf("%s %s/%s: %w", kind, d.process.node.name, path.text, err)
}

func (d *dir) Create(name string) (host.File, error) {
	path := d.path.join(name)
	if err := d.begin(DiskCreate, path); err != nil {
		return nil, err
	}
	inner, err := d.inner.Create(name)
	if err != nil {
		return nil, d.finish(DiskCreate, path, err)
	}
	f := d.process.adopt(d.volume, inner, path)
	f.touch()
	return f, d.finish(DiskCreate, path, nil)
}

func (d *dir) Open(name string) (host.File, error) {
	path := d.path.join(name)
	if err := d.begin(DiskOpen, path); err != nil {
		return nil, err
	}
	inner, err := d.inner.Open(name)
	if err != nil {
		return nil, d.finish(DiskOpen, path, err)
	}
	f := d.process.adopt(d.volume, inner, path)
	return f, d.finish(DiskOpen, path, nil)
}

// Sub counts as a create: it may make the directory.
func (d *dir) Sub(name string) (host.Dir, error) {
	path := d.path.join(name)
	if err := d.begin(DiskCreate, path); err != nil {
		return nil, err
	}
	inner, err := d.inner.Sub(name)
	if err != nil {
		return nil, d.finish(DiskCreate, path, err)
	}
	return &dir{process: d.process, volume: d.volume, inner: inner, path: path}, d.finish(DiskCreate, path, nil)
}

func (d *dir) Rename(from, to string) error {
	path := d.path.join(from)
	if err := d.begin(DiskRename, path); err != nil {
		return err
	}
	return d.finish(DiskRename, path, d.inner.Rename(from, to))
}

func (d *dir) Remove(name string) error {
	path := d.path.join(name)
	if err := d.begin(DiskRemove, path); err != nil {
		return err
	}
	return d.finish(DiskRemove, path, d.inner.Remove(name))
}

func (d *dir) List() ([]host.Info, error) {
	if err := d.begin(DiskList, d.path); err != nil {
		return nil, err
	}
	entries, err := d.inner.List()
	return entries, d.finish(DiskList, d.path, err)
}

func (d *dir) Modified(name string) (host.Wall, error) {
	d.process.enter()
	at, err := d.inner.Modified(name)
	return host.Wall(at), err
}

func (d *dir) SyncDir() error {
	effect, err := d.perform(DiskSyncDir, d.path)
	if err != nil {
		return err
	}
	if effect.Lie {
		d.process.world.effect(EffectLyingSync)
		return d.finish(DiskSyncDir, d.path, nil)
	}
	return d.finish(DiskSyncDir, d.path, d.inner.SyncDir())
}

func (d *dir) Lock() (release func(), err error) {
	p := d.process
	p.enter()
	unlock, err := d.inner.Lock()
	if err != nil {
		return nil, err
	}
	held := &dirLock{release: unlock}
	p.locks = append(p.locks, held)
	return func() {
		p.enter()
		held.release()
	}, nil
}

func (d *dir) Usage() (free, total int64, err error) {
	d.process.enter()
	return d.inner.Usage()
}

package servicetest

import (
	"errors"

	"lakebed/engine/host"
)

// failing is a host whose disk fails when told to.
type failing struct {
	host.Host
	told *Served
}

func (f *failing) Disk(volume string) (host.Dir, error) {
	d, err := f.Host.Disk(volume)
	return &failingDir{d, f.told}, err
}

type failingDir struct {
	host.Dir
	told *Served
}

func (d *failingDir) Sub(name string) (host.Dir, error) {
	sub, err := d.Dir.Sub(name)
	return &failingDir{sub, d.told}, err
}

func (d *failingDir) Create(name string) (host.File, error) {
	f, err := d.Dir.Create(name)
	return &failingFile{f, d.told}, err
}

func (d *failingDir) Open(name string) (host.File, error) {
	f, err := d.Dir.Open(name)
	return &failingFile{f, d.told}, err
}

type failingFile struct {
	host.File
	told *Served
}

func (f *failingFile) Allocate(offset, length int64) error {
	if f.told.FailAllocations.Load() {
		return host.ErrNoSpace
	}
	return f.File.Allocate(offset, length)
}

func (f *failingFile) Sync() error {
	if f.told.FailSyncs.Load() {
		return errors.New("the device does not answer")
	}
	return f.File.Sync()
}

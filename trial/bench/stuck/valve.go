package stuck

import (
	"sync"

	"lakebed/engine/host"
)

// Call is a kind of call that a valve holds up.
type Call uint8

// The calls. Syncs are those of files and of directories, writes all that changes a file.
const (
	Syncs Call = iota + 1
	Writes
)

func (c Call) String() string {
	switch c {
	case Syncs:
		return "sync"
	case Writes:
		return "write"
	}
	return "no call"
}

// Valve holds up calls to one volume while it is shut. It may be used from any task.
type Valve struct {
	volume string
	call   Call

	mutex  sync.Mutex
	opened sync.Cond
	shut   bool
	held   int
	met    int
}

// NewValve makes an open valve for calls of one kind to one volume.
func NewValve(volume string, call Call) *Valve {
	v := &Valve{volume: volume, call: call}
	v.opened.L = &v.mutex
	return v
}

// Wrap puts the valve between a node and its machine.
func (v *Valve) Wrap(h host.Host) host.Host { return &valvedHost{Host: h, valve: v} }

// Shut holds up what comes from now on. A call that the machine already has is not touched.
func (v *Valve) Shut() {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.shut = true
}

// Open lets everything go that waits, and what comes later.
func (v *Valve) Open() {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.shut = false
	v.opened.Broadcast()
}

// Held is how many calls wait now, and Met how many ever did. A run in which none did has proved nothing.
func (v *Valve) Held() int {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.held
}

// Met is how many calls have had to wait.
func (v *Valve) Met() int {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.met
}

// pass returns when a call may go on.
func (v *Valve) pass(call Call) {
	if call != v.call {
		return
	}
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if !v.shut {
		return
	}
	v.held++
	v.met++
	for v.shut {
		v.opened.Wait()
	}
	v.held--
}

// valvedHost is a machine with a valve at one volume.
type valvedHost struct {
	host.Host
	valve *Valve
}

func (h *valvedHost) Disk(volume string) (host.Dir, error) {
	d, err := h.Host.Disk(volume)
	if err != nil || volume != h.valve.volume {
		return d, err
	}
	return &valvedDir{Dir: d, valve: h.valve}, nil
}

// valvedDir passes everything on but what makes a file or another directory, which get the valve too, and its own sync.
type valvedDir struct {
	host.Dir
	valve *Valve
}

func (d *valvedDir) file(f host.File, err error) (host.File, error) {
	if err != nil {
		return nil, err
	}
	return &valvedFile{File: f, valve: d.valve}, nil
}

func (d *valvedDir) Create(name string) (host.File, error) { return d.file(d.Dir.Create(name)) }
func (d *valvedDir) Open(name string) (host.File, error)   { return d.file(d.Dir.Open(name)) }

func (d *valvedDir) Sub(name string) (host.Dir, error) {
	sub, err := d.Dir.Sub(name)
	if err != nil {
		return nil, err
	}
	return &valvedDir{Dir: sub, valve: d.valve}, nil
}

func (d *valvedDir) SyncDir() error {
	d.valve.pass(Syncs)
	return d.Dir.SyncDir()
}

// valvedFile keeps the file's head start on writing back and its way past the cache, without which its writes would be others than
// the engine's. It does not offer a mapping: nobody needs it of a volume that is written.
type valvedFile struct {
	host.File
	valve *Valve
}

func (f *valvedFile) StartWriteback(off, n int64) { host.StartWriteback(f.File, off, n) }

func (f *valvedFile) WritePastCache() bool { return host.WritePastCache(f.File) }

func (f *valvedFile) Sync() error {
	f.valve.pass(Syncs)
	return f.File.Sync()
}

func (f *valvedFile) WriteBuffersAt(b [][]byte, off int64) (int64, error) {
	f.valve.pass(Writes)
	return f.File.WriteBuffersAt(b, off)
}

func (f *valvedFile) Allocate(off, n int64) error {
	f.valve.pass(Writes)
	return f.File.Allocate(off, n)
}

func (f *valvedFile) Truncate(n int64) error {
	f.valve.pass(Writes)
	return f.File.Truncate(n)
}

package seglog

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog/partition"
)

const (
	storeDir      = "mstore"
	partitionsDir = "partition"
	probeName     = "probe"
	probeBytes    = 4096
)

// volume is one data directory.
type volume struct {
	store  *Store
	name   string
	dir    host.Dir // mstore/partition; nil: it could not be opened yet
	unlock func()

	upkeep  host.Mutex // held by retention and readmission
	changed host.Cond  // on the store's mutex: ejected, or somebody wants retention to look

	// Guarded by the store's mutex.
	ejected error // why; nil: in service
	seen    bool  // its topics are known
	pause   time.Duration
}

// member is one partition of a topic.
type member struct {
	topic  *topic
	number int
	volume *volume
	log    *partition.Partition // nil: its directory was never opened, or is missing
	lost   error                // its directory is missing
}

func (m *member) name() string {
	return m.volume.name + "/" + m.topic.name + "/" + strconv.Itoa(m.number)
}

// open finds the volume's directory and takes it for this process.
func (v *volume) open() error {
	if v.dir != nil {
		return nil
	}
	root, err := v.store.h.Disk(v.name)
	if err != nil {
		return err
	}
	base, err := subDir(root, storeDir)
	if err != nil {
		return err
	}
	unlock, err := base.Lock()
	if err != nil {
		return err
	}
	dir, err := subDir(base, partitionsDir)
	if err != nil {
		unlock()
		return err
	}
	v.dir, v.unlock = dir, unlock
	return nil
}

// subDir opens a directory, makes it if it is missing, and makes its name durable.
func subDir(parent host.Dir, name string) (host.Dir, error) {
	dir, err := parent.Sub(name)
	if err == nil {
		err = parent.SyncDir()
	}
	return dir, err
}

// eject takes a directory out of service. It must not block: partitions that fail call it.
func (v *volume) eject(why error) {
	s := v.store
	s.mutex.Lock()
	first := v.ejected == nil
	if first {
		v.ejected, v.pause = why, s.config.ReadmitPause
		v.changed.Broadcast()
	}
	s.mutex.Unlock()
	if first {
		s.h.Probe().Mark(host.Event{Name: PointEjected, Extra: v.name})
		s.h.Log(host.Error, "data directory ejected", host.F("volume", v.name), host.F("why", why))
	}
}

// keep is the volume's task: it has retention look, and takes the volume back when it works again.
func (v *volume) keep() {
	s := v.store
	nextLook := s.h.Elapsed() + s.config.LookInterval
	for {
		s.mutex.Lock()
		wait := nextLook - s.h.Elapsed()
		if v.ejected != nil {
			wait = min(wait, v.pause)
		}
		woke := host.TimedOut
		if wait > 0 {
			woke = v.changed.WaitFor(wait)
		}
		ejected, closing := v.ejected != nil, s.closing
		s.mutex.Unlock()
		if woke == host.Stopping || closing {
			return
		}
		if woke == host.Signalled {
			continue // just ejected: it gets its pause
		}
		if ejected {
			v.readmit()
		}
		if s.h.Elapsed() >= nextLook {
			nextLook = s.h.Elapsed() + s.config.LookInterval
			_ = v.retain() // a failure has ejected the directory, which says so
		}
	}
}

// readmit looks whether an ejected directory works, and settles its partitions.
func (v *volume) readmit() {
	v.upkeep.Lock()
	defer v.upkeep.Unlock()
	s := v.store
	err := v.open()
	if err == nil {
		err = v.probe()
	}
	if err == nil {
		err = s.discover(v)
	}
	members := s.membersOf(v)
	for _, m := range members {
		if err == nil && m.log != nil {
			err = m.log.Restore()
		}
	}
	s.mutex.Lock()
	for _, m := range members { // one that failed again since it was restored has found the directory ejected: nobody else looks
		if err == nil && m.log != nil {
			err = m.log.Err()
		}
	}
	if err == nil {
		v.ejected = nil
	} else {
		v.pause = min(2*v.pause, s.config.ReadmitMax)
	}
	s.mutex.Unlock()
	if err != nil {
		s.h.Probe().Mark(host.Event{Name: PointProbeFailed, Extra: v.name})
		s.h.Log(host.Warn, "data directory does not work yet", host.F("volume", v.name), host.F("why", err))
		return
	}
	s.h.Probe().Mark(host.Event{Name: PointReadmitted, Extra: v.name})
	s.h.Log(host.Note, "data directory readmitted", host.F("volume", v.name))
}

// probe looks whether a directory has space, and takes what is written to it in time.
func (v *volume) probe() error {
	if err := v.checkSpace(); err != nil {
		return err
	}
	s := v.store
	begin := s.h.Elapsed()
	if err := s.files.Reserve(1); err != nil {
		return err
	}
	defer s.files.Give(1)
	f, err := host.CreateFresh(v.dir, probeName)
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	if err = host.WriteFullAt(f, make([]byte, probeBytes), 0); err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = v.dir.Remove(probeName)
	}
	if err == nil {
		err = v.dir.SyncDir()
	}
	if took := s.h.Elapsed() - begin; err == nil && took > s.config.CommitPatience {
		err = fmt.Errorf("it took %v", took)
	}
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	return nil
}

func (v *volume) checkSpace() error {
	free, _, err := v.dir.Usage()
	if err == nil && free < v.store.config.FreeBytesMin {
		err = fmt.Errorf("%d bytes are free, less than %d: %w", free, v.store.config.FreeBytesMin, host.ErrNoSpace)
	}
	return err
}

// retain has retention look at the volume's partitions, and looks how much space there is.
func (v *volume) retain() error {
	v.upkeep.Lock()
	defer v.upkeep.Unlock()
	s := v.store
	removed := 0
	var all []error
	for _, m := range s.membersOf(v) {
		if m.log == nil {
			continue
		}
		n, err := m.log.Retain(s.keepOf(m.topic))
		removed += n
		all = append(all, err)
	}
	s.mutex.Lock()
	s.horizon = 0
	s.mutex.Unlock()
	s.h.Probe().Mark(host.Event{Name: PointRetained, A: int64(removed), Extra: v.name})
	if v.dir != nil {
		if err := v.checkSpace(); err != nil {
			v.eject(err)
		}
	}
	return errors.Join(all...)
}

// syncAtIntervals is the task of the mode interval.
func (v *volume) syncAtIntervals() {
	for v.store.tasks.Sleep(v.store.config.SyncInterval) {
		for _, m := range v.store.membersOf(v) {
			if m.log != nil {
				m.log.Sync()
			}
		}
	}
}

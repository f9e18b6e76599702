package metadata

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// Points of a bookie's registration. A is the session, Extra the mode.
const (
	PointRegistered     host.Point = "registration.made"
	PointReregistered   host.Point = "registration.made-again"    // after the session was lost
	PointRegisteredLate host.Point = "registration.made-late"     // after B attempts that failed
	PointOldRegistered  host.Point = "registration.old-deleted"   // of an earlier process or session of this bookie
	PointModeChanged    host.Point = "registration.mode-changed"  // the new key is there, the old one is gone
	PointForeignStore   host.Point = "registration.foreign-store" // found not to hold the bookie's cluster, and B attempts had failed
)

// Mode is what a bookie is there for.
type Mode uint8

// The modes.
const (
	Writable Mode = iota
	ReadOnly
)

func (m Mode) String() string {
	if m == ReadOnly {
		return "read-only"
	}
	return "writable"
}

// RegistrationConfig sets up a Registration.
type RegistrationConfig struct {
	Layout Layout
	Bookie ledger.BookieID
	Info   BookieServiceInfo // what clients are told; a property is added to it
	Mode   Mode              // at first
	// InstanceID is the identity of the cluster that the bookie belongs to. While the store does not hold that, the bookie
	// is not registered. If it is empty any store will do.
	InstanceID string

	PauseMin time.Duration // after an attempt that failed; doubles
	PauseMax time.Duration
	Look     time.Duration // between looks at the key, for what no watch tells
	Timeout  time.Duration // of one attempt
}

// DefaultRegistrationConfig returns the settings for a real cluster, but for the bookie and its info.
func DefaultRegistrationConfig() RegistrationConfig {
	return RegistrationConfig{
		Layout: Layout{DefaultRoot}, PauseMin: 50 * time.Millisecond, PauseMax: 5 * time.Second,
		Look: 30 * time.Second, Timeout: 10 * time.Second,
	}
}

// Validate reports the first setting that cannot work.
func (c RegistrationConfig) Validate() error {
	if c.PauseMin <= 0 || c.PauseMax < c.PauseMin || c.Look <= 0 || c.Timeout <= 0 {
		return fmt.Errorf("pauses %v to %v, look %v, timeout %v: must be positive and not fall", c.PauseMin, c.PauseMax, c.Look, c.Timeout)
	}
	if err := c.Layout.Validate(); err != nil {
		return err
	}
	if len(c.InstanceID) > instanceIDBytesMax {
		return fmt.Errorf("identity of %d bytes, %d are allowed: %w", len(c.InstanceID), instanceIDBytesMax, ErrInvalid)
	}
	return c.Bookie.Validate()
}

// registrationProperty marks a bookie's key with the session and the process that made it. A key that an earlier process
// or session of the bookie made looks the same otherwise, but will vanish when that session expires.
const registrationProperty = "lakebed.registration"

// Registration keeps a living bookie's ephemeral key in the store: it makes it again when the session was lost, when
// somebody deleted it, and under the other parent when the mode changes. Its task is "registration".
//
// A key of the same name that is not its own is deleted: whoever registers holds the directories and the cookie of this
// bookie, so that key belongs to a process that has ended. Upstream waits for the old session to expire instead.
//
// Before it makes a key it looks at the cluster's identity, in the same session. If that is not the one that the bookie
// belongs to, it takes away what this process had registered there and looks again at its pauses: the right store may
// come back. A store that is emptied between the look and the making has the key until the next look, which follows after
// the first pause, since the session has changed.
type Registration struct {
	h       host.Host
	g       host.Group
	store   Store
	config  RegistrationConfig
	process uint64 // drawn at random

	mutex     host.Mutex
	changed   host.Cond
	mode      Mode
	watch     Watch
	made      bool // in this mode
	session   SessionID
	everMade  bool
	foreign   bool // the store was found to be, since it was last registered
	wasMode   Mode // of the last time it was made
	shutdown  bool
	failures  int
	lastError error
}

// Register starts to keep a registration. It needs the store only later, and waits for it as long as need be. The owner
// calls Close before it closes the store.
func Register(h host.Host, g host.Group, store Store, config RegistrationConfig) *Registration {
	err := config.Validate()
	invariant.Checkf(err == nil, "a registration is given a valid configuration: %v", err)
	r := &Registration{
		h: h, g: g.New("registration"), store: store, config: config, mode: config.Mode, wasMode: config.Mode,
		process: drawProcess(h, h.Rand("registration")), mutex: h.NewMutex("registration"),
	}
	r.changed = r.g.NewCond(r.mutex)
	r.g.Go("registration", r.keep)
	return r
}

// drawProcess draws a number for this process. The clock is mixed in for hosts that start again with the same seed.
func drawProcess(h host.Host, random *rand.Rand) uint64 { return random.Uint64() + uint64(h.Now()) }

// SetMode moves the key to where it belongs. It does not wait for that. The new key is made before the old one is deleted,
// so that the bookie does not seem to be gone.
func (r *Registration) SetMode(mode Mode) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if mode == r.mode {
		return
	}
	r.mode, r.made = mode, false
	r.wake()
}

// wake ends the task's wait. Its next look opens a watch of the key that is the right one then.
func (r *Registration) wake() {
	if r.watch != nil {
		r.watch.Close()
		r.watch = nil
	}
}

// Await returns once the bookie is registered in its present mode, or with the error of the last attempt when the scope
// or the registration ends first.
func (r *Registration) Await(s *host.Scope) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for !r.made {
		err := s.Err(r.h.Elapsed())
		if err == nil && r.shutdown {
			err = host.ErrStopping
		}
		if err != nil {
			return fmt.Errorf("register bookie %s as %v: %w", r.config.Bookie, r.mode, errors.Join(err, r.lastError))
		}
		r.changed.WaitFor(untilLook(r.h, s))
	}
	return nil
}

// Close ends the task and takes this process's keys away, as far as the store can be reached within the scope. What it
// leaves ends with the session. A key that the next process of the bookie has made stays.
func (r *Registration) Close(s *host.Scope) {
	r.mutex.Lock()
	r.shutdown, r.made = true, false
	r.changed.Broadcast()
	r.wake()
	r.mutex.Unlock()
	r.g.Stop()
	r.g.Wait()
	if r.store.Sync(s) != nil {
		return // the session's end takes the keys away
	}
	for _, mode := range []Mode{Writable, ReadOnly} {
		_ = r.remove(mode, r.isOfProcess, s) // the session's end does it otherwise
	}
}

// keep is the task. A look takes at least PauseMin, so that two processes of one name, which delete each other's keys,
// do not do so as fast as they can.
func (r *Registration) keep() {
	for r.g.Sleep(r.config.PauseMin) {
		mode, watch := r.begin()
		pause := r.config.Look
		if err := r.ensure(mode); err != nil {
			pause = r.failed(mode, err)
		}
		if watch == nil {
			r.g.Sleep(min(pause, r.config.PauseMax))
		} else if watch.WaitFor(pause) == host.Stopping {
			r.drop(watch) // it was closed, to wake this task
		}
	}
}

// begin returns the mode to establish and a watch of its key, which is there before the key is looked at; nil if none is
// to be had.
func (r *Registration) begin() (Mode, Watch) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.watch == nil {
		w, err := r.store.Watch(r.key(r.mode), r.g)
		if err != nil {
			r.lastError = err
			return r.mode, nil
		}
		r.watch = w
	}
	return r.mode, r.watch
}

// drop closes a watch, if that was not done.
func (r *Registration) drop(w Watch) {
	w.Close()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.watch == w {
		r.watch = nil
	}
}

func (r *Registration) key(mode Mode) string {
	if mode == ReadOnly {
		return r.config.Layout.ReadOnlyKey(r.config.Bookie)
	}
	return r.config.Layout.WritableKey(r.config.Bookie)
}

// ensure makes what is missing: the key of the mode, and then the absence of the other one.
func (r *Registration) ensure(mode Mode) error {
	s := host.Within(r.h, r.g, r.config.Timeout)
	session, err := r.makeKey(mode, s)
	if errors.Is(err, ErrForeignStore) {
		return errors.Join(err, r.withdraw(s))
	}
	if err != nil {
		return err
	}
	other := Writable + ReadOnly - mode
	if err := r.remove(other, func([]byte) bool { return true }, s); err != nil {
		return err
	}
	if r.store.Session() != session {
		return fmt.Errorf("registered at %s: %w", r.key(mode), ErrSessionExpired)
	}
	r.succeeded(mode, session)
	return nil
}

// makeKey makes the key of a mode in the present session, unless it is there, and returns that session. If the session
// changed meanwhile the key is of either, and ensure will find that out.
func (r *Registration) makeKey(mode Mode, s *host.Scope) (SessionID, error) {
	key := r.key(mode)
	v, err := r.store.Get(key, s)
	session := r.store.Session()
	switch {
	case err == nil && r.isOwn(v.Data, session):
		return session, nil
	case err != nil && !errors.Is(err, ErrNotExist):
		return 0, fmt.Errorf("read %s: %w", key, err)
	}
	old := err == nil // of an earlier process or session
	if err := r.checkStore(session, s); err != nil {
		return 0, err
	}
	if old {
		if err := r.store.Delete(key, v.Version, s); err != nil && !errors.Is(err, ErrNotExist) {
			return 0, fmt.Errorf("delete the old registration at %s: %w", key, err)
		}
		r.h.Probe().Mark(host.Event{Name: PointOldRegistered, A: int64(session), Extra: mode.String()})
	}
	if _, err := r.store.Create(key, r.value(session), Ephemeral, s); err != nil {
		return 0, fmt.Errorf("register at %s: %w", key, err)
	}
	return session, nil
}

// checkStore fails with ErrForeignStore unless the store holds the bookie's cluster. What it found is true of this session
// only: a store that was emptied knows no session from before.
func (r *Registration) checkStore(session SessionID, s *host.Scope) error {
	if r.config.InstanceID == "" {
		return nil
	}
	if err := CheckInstanceID(r.store, r.config.Layout, r.config.InstanceID, s); err != nil {
		return fmt.Errorf("look at the store before registering: %w", err)
	}
	if r.store.Session() != session {
		return fmt.Errorf("look at the store before registering: %w", ErrSessionExpired)
	}
	return nil
}

// withdraw deletes what this process has registered at a store that is not its own.
func (r *Registration) withdraw(s *host.Scope) error {
	for _, mode := range []Mode{Writable, ReadOnly} {
		if err := r.remove(mode, r.isOfProcess, s); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes the key of a mode if it is there and holds what the caller has in mind.
func (r *Registration) remove(mode Mode, meant func(data []byte) bool, s *host.Scope) error {
	key := r.key(mode)
	v, err := r.store.Get(key, s)
	if err == nil && meant(v.Data) {
		err = r.store.Delete(key, v.Version, s)
	}
	if err != nil && !errors.Is(err, ErrNotExist) {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

// value is what the key holds if this process makes it in the session.
func (r *Registration) value(session SessionID) []byte {
	info := r.config.Info
	mark := Property{registrationProperty, fmt.Sprintf("%x-%x", uint64(session), r.process)}
	info.Properties = sortProperties(append(append([]Property(nil), info.Properties...), mark))
	return info.Append(nil)
}

func (r *Registration) isOwn(data []byte, session SessionID) bool {
	return session != 0 && string(data) == string(r.value(session))
}

// isOfProcess reports whether this process made the key, in whichever session.
func (r *Registration) isOfProcess(data []byte) bool {
	info, err := DecodeBookieInfo(r.config.Bookie, data)
	_, process, _ := strings.Cut(info.Property(registrationProperty), "-")
	return err == nil && process == fmt.Sprintf("%x", r.process)
}

func (r *Registration) failed(mode Mode, err error) (pause time.Duration) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.made, r.lastError = false, err
	r.failures++
	switch {
	case errors.Is(err, ErrForeignStore) && !r.foreign:
		// Told whatever failed before: a store usually goes away before it comes back empty.
		r.foreign = true
		r.h.Probe().Mark(host.Event{Name: PointForeignStore, A: int64(r.store.Session()), B: int64(r.failures) - 1, Extra: mode.String()})
		r.h.Log(host.Error, "bookie keeps away from a metadata store that is not its cluster's; its ledgers are known to the metadata that were there before",
			host.F("bookie", r.config.Bookie), host.F("error", err))
	case r.failures == 1 && !r.g.Stopping():
		r.h.Log(host.Warn, "bookie is not registered", host.F("bookie", r.config.Bookie), host.F("mode", mode), host.F("error", err))
	}
	return RetryConfig{PauseMin: r.config.PauseMin, PauseMax: r.config.PauseMax}.pause(r.failures)
}

// succeeded tells of what has changed, if anything has.
func (r *Registration) succeeded(mode Mode, session SessionID) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	failures := r.failures
	r.failures, r.lastError, r.foreign = 0, nil, false
	if mode != r.mode || r.shutdown {
		return // it has changed meanwhile, and the task goes on
	}
	if r.made && r.session == session {
		return
	}
	event := host.Event{Name: PointRegistered, A: int64(session), B: int64(failures), Extra: mode.String()}
	if r.everMade && r.wasMode != mode {
		event.Name = PointModeChanged
	} else if r.everMade && r.session != session {
		event.Name = PointReregistered
	}
	r.made, r.session, r.everMade, r.wasMode = true, session, true, mode
	r.changed.Broadcast()
	r.h.Probe().Mark(event)
	if failures > 0 {
		event.Name = PointRegisteredLate
		r.h.Probe().Mark(event)
	}
	r.h.Log(host.Note, "bookie is registered", host.F("bookie", r.config.Bookie), host.F("mode", mode))
}

package channel

import (
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// waiter lets one task wait for one request.
type waiter struct{ gate host.Gate }

func (w *waiter) Completed(*Request) { w.gate.Open() }

// Do submits a request and waits until it is over. The error is also in r.Err. r.Done is overwritten.
func (c *Channel) Do(r *Request) error {
	w := &waiter{gate: c.tasks.NewGate()}
	r.Done = w
	if err := c.Submit(r); err != nil {
		r.Err = err
		return err
	}
	w.gate.Wait() // the group stops only after everything has completed
	return r.Err
}

// Add is one entry to store.
type Add struct {
	MasterKey ledger.MasterKey
	Flags     wire.Flags // wire.RecoveryAdd: although the ledger is fenced
	Body      []byte     // the stored entry
}

// AddEntry stores an entry, and returns nil once it is durable. Zero timeout: Config.Timeout.
func (c *Channel) AddEntry(a Add, timeout time.Duration) error {
	return c.Do(&Request{Operation: wire.Add, Flags: a.Flags, MasterKey: a.MasterKey, Body: a.Body, Timeout: timeout})
}

// ReadEntry reads an entry. The caller releases what it returns.
func (c *Channel) ReadEntry(id ledger.ID, entry ledger.EntryID, timeout time.Duration) (*Request, error) {
	return c.entries(&Request{Operation: wire.Read, Ledger: id, Entry: entry, Timeout: timeout})
}

// ReadLast reads the last entry that the bookie has of a ledger.
func (c *Channel) ReadLast(id ledger.ID, timeout time.Duration) (*Request, error) {
	return c.ReadEntry(id, ledger.NoEntry, timeout)
}

// FenceAndRead fences a ledger and reads an entry, or the last one for ledger.NoEntry. The fence is durable when it
// returns nil, ErrNoEntry or ErrNoLedger.
func (c *Channel) FenceAndRead(id ledger.ID, entry ledger.EntryID, key ledger.MasterKey, timeout time.Duration) (*Request, error) {
	return c.entries(&Request{
		Operation: wire.Read, Flags: wire.Fencing | wire.HighPriority, MasterKey: key,
		Ledger: id, Entry: entry, Timeout: timeout,
	})
}

// Batch says what a batch read asks for.
type Batch struct {
	Ledger   ledger.ID
	First    ledger.EntryID
	MaxCount int32 // zero or less: no bound
	MaxSize  int64 // of the answer's frame in bytes; zero: the longest frame
}

// BatchRead reads following entries, at least the first: as many as the bookie has without a hole, within the bounds.
func (c *Channel) BatchRead(b Batch, timeout time.Duration) (*Request, error) {
	if b.MaxSize == 0 {
		b.MaxSize = int64(c.config.FrameBytesMax)
	}
	return c.entries(&Request{
		Operation: wire.BatchRead, Ledger: b.Ledger, Entry: b.First, MaxCount: b.MaxCount, MaxSize: b.MaxSize,
		Timeout: timeout,
	})
}

// Authenticate sends one message of an authentication plug-in and returns the bookie's.
func (c *Channel) Authenticate(m wire.AuthMessage, timeout time.Duration) (wire.AuthMessage, error) {
	r := &Request{Operation: wire.Auth, Body: m.Append(nil), Timeout: timeout}
	if err := c.Do(r); err != nil {
		return wire.AuthMessage{}, err
	}
	defer r.Release()
	answer, err := wire.DecodeAuth(append([]byte(nil), r.Entries[0]...))
	if err != nil {
		return wire.AuthMessage{}, err
	}
	return answer, nil
}

func (c *Channel) entries(r *Request) (*Request, error) {
	if err := c.Do(r); err != nil {
		return nil, err
	}
	return r, nil
}

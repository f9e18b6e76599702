package channel

import (
	"fmt"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// Completion takes requests back. It is called once for each, by tasks that many requests depend on: it must not wait.
type Completion interface{ Completed(*Request) }

// Collector takes requests back many at a time: those whose answers came together. Like Completed it must not wait, and it
// must not keep the slice.
type Collector interface{ Collected([]*Request) }

// Lender bounds its requests itself, and has their bodies stay as they are for those that keep them in front of a channel
// (package pool): they need no copy, and no bound of their own.
type Lender interface{ Lend(*Request) Loan }

// Loan is the promise that a body stays as it is. It is returned once.
type Loan interface{ Return() }

// Request is one request and then its outcome. It may be used again once it has completed and was released.
type Request struct {
	Operation wire.Operation
	Flags     wire.Flags
	MasterKey ledger.MasterKey // of adds and fencing reads
	Ledger    ledger.ID        // of reads; an add names them in its body, and they are set from it
	Entry     ledger.EntryID   // ledger.NoEntry in a read: the last entry
	MaxCount  int32            // of batch reads; zero or less: no bound
	MaxSize   int64            // of batch reads: of the answer's frame in bytes
	Body      []byte           // of an add the stored entry; of an auth the message. Not used after Submit has returned
	Timeout   time.Duration    // zero: Config.Timeout
	Done      Completion
	Together  Collector // if not nil, told instead of Done
	Lender    Lender    // if not nil, bounds and lends the request
	Owner     any       // whatever the caller wants to find again

	Err     error
	Entries [][]byte // what a read returned, stored entries; one unless it was a batch read. Of an auth the message

	buffer []byte // holds the entries
	memory host.Memory
}

// Release gives the memory of the outcome back. The entries must not be used afterwards.
func (r *Request) Release() {
	if r.memory != nil {
		r.memory.Put(r.buffer)
		r.memory, r.buffer = nil, nil
	}
	clear(r.Entries)
	r.Entries = r.Entries[:0]
}

// onWire makes the packet of a request, and checks that it can be sent.
func (c *Channel) onWire(r *Request, packet *wire.Request) error {
	*packet = wire.Request{
		Version: wire.VersionCurrent, Operation: r.Operation, Flags: r.Flags, MasterKey: r.MasterKey,
		MaxCount: r.MaxCount, MaxSize: r.MaxSize, Body: r.Body,
	}
	switch r.Operation {
	case wire.Add:
		var err error
		if r.Ledger, r.Entry, err = ledger.Key(r.Body); err != nil {
			return fmt.Errorf("%s: %w: %w", c.about(r), ErrBadRequest, err)
		}
		packet.HasMasterKey = true
	case wire.Read, wire.BatchRead:
		packet.HasMasterKey = r.Flags&wire.Fencing != 0
	case wire.Auth:
	default:
		return fmt.Errorf("%s: not served over this protocol: %w", c.about(r), ErrBadRequest)
	}
	packet.Ledger, packet.Entry = r.Ledger, r.Entry
	if packet.FrameBytes() > c.config.FrameBytesMax {
		return fmt.Errorf("%s: frame of %d bytes, at most %d are allowed: %w",
			c.about(r), packet.FrameBytes(), c.config.FrameBytesMax, ErrBadRequest)
	}
	return nil
}

// HandBack gives a request that was completed back to whoever waits for it.
func (r *Request) HandBack() {
	if r.Together != nil {
		r.Together.Collected([]*Request{r})
		return
	}
	r.Done.Completed(r)
}

// settle gives a request its answer. The bytes are copied, since they lie in the channel's input. ErrProtocol if the
// answer cannot be understood; the request is failed then.
func (c *Channel) settle(r *Request, response *wire.Response) error {
	if r.Err = c.answered(r, response.Code); r.Err != nil || r.Operation == wire.Add {
		return nil
	}
	r.memory = c.h.Memory()
	r.buffer = r.memory.Get(len(response.Body))
	copy(r.buffer, response.Body)
	if r.Operation != wire.BatchRead {
		r.Entries = append(r.Entries[:0], r.buffer)
		return nil
	}
	count, err := wire.CountEntries(r.buffer)
	if err != nil {
		r.Release()
		err = fmt.Errorf("%w: %w", ErrProtocol, err)
		r.Err = c.lost(r, fmt.Errorf("%w: %w", ErrBroken, err))
		return err
	}
	r.Entries = slices.Grow(r.Entries[:0], count)
	for rest := r.buffer; len(rest) > 0; {
		var entry []byte
		entry, rest, _ = wire.NextEntry(rest) // they were counted, so each is whole
		r.Entries = append(r.Entries, entry)
	}
	return nil
}

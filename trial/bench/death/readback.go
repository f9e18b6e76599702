package death

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// end is where a closed ledger ends.
type end struct {
	last   ledger.EntryID
	length int64
}

// readBack is what was found in a recovered ledger.
type readBack struct {
	end    end
	read   int64     // entries that are what was written
	wrong  []Finding // at most findingsMax
	passed int64     // further ones
}

// findingsMax bounds what is told of one ledger.
const findingsMax = 10

func (r *readBack) add(f Finding) {
	if len(r.wrong) < findingsMax {
		r.wrong = append(r.wrong, f)
		return
	}
	r.passed++
}

// recovered opens a ledger with recovery, as another client, and has f look at it. Bookies that have just come up are
// given time: too few answers are no loss.
func recovered(ctx context.Context, metadata string, id ledger.ID, f func(r *client.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, recoverMax)
	defer cancel()
	return withClient(ctx, metadata, nil, func(h host.Host, c *client.Client) error {
		r, err := patiently(ctx, h, func() (*client.Reader, error) { return c.Open(id, client.OpenOptions{}) })
		if err != nil {
			return fmt.Errorf("recover ledger %d: %w", id, err)
		}
		defer r.Close()
		return f(r)
	})
}

// patiently tries again what is unavailable, until the context ends.
func patiently[T any](ctx context.Context, h host.Host, try func() (T, error)) (T, error) {
	for {
		result, err := try()
		if err == nil || ctx.Err() != nil || !errors.Is(err, client.ErrUnavailable) && !errors.Is(err, client.ErrNotEnoughBookies) {
			return result, err
		}
		h.Root().Sleep(retryPause)
	}
}

// look recovers a ledger and reads all of it, comparing it with what was written and with what was promised.
func look(ctx context.Context, metadata string, seed uint64, id ledger.ID, promised ledger.EntryID) (readBack, error) {
	var found readBack
	err := recovered(ctx, metadata, id, func(r *client.Reader) error {
		found.end = end{r.LastAddConfirmed(), r.Length()}
		if !r.Closed() {
			found.add(Finding{What: NotClosed, Ledger: id, First: found.end.last, Last: found.end.last})
		}
		if promised > found.end.last {
			found.add(Finding{What: Lost, Ledger: id, First: found.end.last + 1, Last: promised, Detail: "behind the end of the recovered ledger"})
		}
		bytes := found.readAll(ctx, r, seed)
		if len(found.wrong) == 0 && bytes != found.end.length {
			found.add(Finding{What: WrongLength, Ledger: id, First: 0, Last: found.end.last,
				Detail: fmt.Sprintf("the metadata say %d bytes, the entries have %d", found.end.length, bytes)})
		}
		return nil
	})
	return found, err
}

// chunk is how many entries are read at a time.
const chunk = 500

// readAll reads a closed ledger from its first to its last entry, and returns the payload bytes of what it read.
func (b *readBack) readAll(ctx context.Context, r *client.Reader, seed uint64) (total int64) {
	last := b.end.last
	for first := ledger.EntryID(0); first <= last; first += chunk {
		upTo := min(first+chunk-1, last)
		bytes, err := b.readChunk(r, seed, first, upTo)
		total += bytes
		if err == nil {
			continue
		}
		for e := first; e <= upTo; e++ { // one by one, to name those that are not there
			bytes, err := b.readOne(ctx, r, seed, e)
			total += bytes
			if err != nil {
				b.add(Finding{What: Lost, Ledger: r.ID(), First: e, Last: e, Detail: err.Error()})
			}
		}
	}
	return total
}

func (b *readBack) readOne(ctx context.Context, r *client.Reader, seed uint64, e ledger.EntryID) (bytes int64, err error) {
	for range readAttempts {
		if bytes, err = b.readChunk(r, seed, e, e); err == nil || ctx.Err() != nil || !errors.Is(err, client.ErrUnavailable) {
			return bytes, err
		}
	}
	return bytes, err
}

// readAttempts bounds how often one entry is asked for whose replicas did not answer.
const readAttempts = 5

// readChunk reads and compares some entries. With an error nothing was counted.
func (b *readBack) readChunk(r *client.Reader, seed uint64, first, last ledger.EntryID) (total int64, err error) {
	entries, err := r.Read(first, last)
	if err != nil {
		return 0, err
	}
	defer entries.Release()
	if len(entries.List) != int(last-first+1) {
		return 0, fmt.Errorf("%d entries instead of %d", len(entries.List), last-first+1)
	}
	for i, e := range entries.List {
		want := first + ledger.EntryID(i)
		total += int64(len(e.Payload))
		if e.ID == want && bytes.Equal(e.Payload, Payload(seed, r.ID(), want)) {
			b.read++
			continue
		}
		b.add(Finding{What: Changed, Ledger: r.ID(), First: want, Last: want, Detail: describe(e.ID, e.Payload)})
	}
	return total, nil
}

// describe says what is there instead of an entry, as far as it can be told.
func describe(id ledger.EntryID, payload []byte) string {
	if len(payload) < payloadBytesMin {
		return fmt.Sprintf("the reader calls it entry %d, and it has %d bytes", id, len(payload))
	}
	return fmt.Sprintf("the reader calls it entry %d, its %d bytes say entry %d of ledger %d",
		id, len(payload), binary.BigEndian.Uint64(payload[16:]), binary.BigEndian.Uint64(payload[8:]))
}

package client

import (
	"errors"
	"math"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/client/pool"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// batchLimits bound a batch read's answer.
type batchLimits struct {
	count     int   // entries, at least 1
	sizeBytes int64 // of the frame, as a bookie counts it; the first entry comes even if it is longer
}

// errBatchLost: the bookie ended the connection instead of answering a batch read.
var errBatchLost = errors.New("batch read cost the connection")

// hangsUp reports whether an error is what a bookie from before batch reads does at one: it ends the connection. One that
// this client gave up, since the bookie owed answers for too long, is another matter.
func hangsUp(err error) bool {
	return errors.Is(err, channel.ErrBroken) && !errors.Is(err, pool.ErrUnavailable) && !errors.Is(err, host.ErrTimeout)
}

// batch reads following entries with one request: the verified prefix of what one replica answers, and at least the first
// entry. All of them must lie in one fragment whose bookies hold every entry.
func (f *fetcher) batch(first ledger.EntryID, limits batchLimits) (*Entries, error) {
	one := f.start(&fetch{
		first: first, end: first + ledger.EntryID(limits.count), batch: true,
		size: min(limits.sizeBytes, int64(f.reader.client.config.Pool.Channel.FrameBytesMax)),
	})
	for !one.over {
		f.step()
	}
	f.ended = f.ended[:0]
	if one.lost != "" {
		return nil, errBatchLost
	}
	if one.err != nil {
		return nil, one.err
	}
	entries := &Entries{}
	entries.add(one)
	return entries, nil
}

// prefix verifies a batch read's answer in order, up to the first entry that is not what it should be. An error means
// that this is the very first.
func (f *fetcher) prefix(one *fetch, a *attempt) ([]Entry, error) {
	count := int(one.end - one.first)
	if len(a.Entries) == 0 {
		return nil, channel.ErrProtocol
	}
	entries := make([]Entry, 0, min(count, len(a.Entries)))
	for i, stored := range a.Entries[:min(count, len(a.Entries))] {
		entry, err := verified(f.digester, stored, f.reader.id, one.first+ledger.EntryID(i))
		if err != nil && i == 0 {
			return nil, err
		}
		if err != nil {
			f.reader.mark(PointBatchCut, one.first+ledger.EntryID(i), string(a.bookie))
			break
		}
		entries = append(entries, entry)
	}
	if len(entries) < count {
		f.reader.mark(PointBatchShort, one.first+ledger.EntryID(len(entries)), string(a.bookie))
	}
	return entries, nil
}

// likeBatch reads what a batch read would return with single reads. How many come is guessed from the first entry's
// size, and what goes beyond the bound is cut off. The guess alone would be no bound: a short entry may stand before long
// ones.
func (f *fetcher) likeBatch(first ledger.EntryID, limits batchLimits) (*Entries, error) {
	c := collector{fetcher: f, parallel: f.reader.client.config.ReadsInFlight, bytesMax: math.MaxInt64}
	c.todo = []span{{first, first + 1}}
	if err := c.collect(); err != nil {
		c.release()
		return nil, err
	}
	perEntry := f.frameBytes(&c.done[0].result[0])
	left := max(0, limits.sizeBytes-wire.BatchResponseOverheadBytes-perEntry)
	if guess := min(int64(limits.count-1), left/perEntry); guess > 0 {
		c.todo = []span{{first + 1, first + 1 + ledger.EntryID(guess)}}
		c.bytesMax = limits.sizeBytes
		_ = c.collect() // the prefix is an answer; whoever asks for the next entry learns why there is no more
	}
	entries := c.prefix(first)
	f.cut(entries, limits)
	return entries, nil
}

// cut releases the entries behind the first that do not fit into a batch read's answer.
func (f *fetcher) cut(entries *Entries, limits batchLimits) {
	used, fitting := int64(wire.BatchResponseOverheadBytes), 0
	for i := range entries.List {
		used += f.frameBytes(&entries.List[i])
		if i > 0 && used > limits.sizeBytes {
			break
		}
		fitting++
	}
	for _, answer := range entries.answers[fitting:] {
		answer.Release()
	}
	entries.List, entries.answers = entries.List[:fitting], entries.answers[:fitting]
}

// frameBytes is what an entry takes in the frame of a batch read's answer.
func (f *fetcher) frameBytes(e *Entry) int64 {
	return int64(wire.BatchResponsePerEntryBytes + f.digester.Overhead() + len(e.Payload))
}

package client

import (
	"errors"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/client/pool"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
)

// batchLimits bound a batch read's answer.
type batchLimits struct {
	count     int   // entries, at least 1
	sizeBytes int64 // of the frame, as a bookie counts it; the first entry comes even if it is longer
}

// errBatchLost: the bookie ended the connection instead of answering a batch read.
var errBatchLost = errors.New("batch read cost the connection")

// batch reads following entries with one request: the verified prefix of what one replica answers, and at least the first
// entry. All of them must lie in one fragment whose bookies hold every entry.
func (f *fetcher) batch(first ledger.EntryID, limits batchLimits) (*Entries, error) {
	one := f.newFetch(first)
	one.Operation = wire.BatchRead
	one.MaxCount = int32(limits.count)
	one.MaxSize = min(limits.sizeBytes, int64(f.reader.client.config.Pool.Channel.FrameBytesMax))
	for f.ask(one) {
		_, _ = f.queue.Take(nil)
		f.underWay--
		err := one.Err
		if err == nil {
			var entries *Entries
			if entries, err = f.prefix(one, limits.count); err == nil {
				return entries, nil
			}
			err = f.damaged(one, err)
		}
		f.failed(one, err)
		// Bookies from before batch reads hang up at one. It is not tried on the others: each would cost a connection
		// that carries other requests.
		if errors.Is(err, channel.ErrBroken) && !errors.Is(err, pool.ErrUnavailable) {
			f.reader.mark(PointBatchPaused, first, string(one.replicas.current()))
			return nil, errBatchLost
		}
	}
	return nil, f.exhausted(one)
}

// prefix verifies a batch read's answer in order, up to the first entry that is not what it should be. An error means
// that this is the very first.
func (f *fetcher) prefix(one *fetch, count int) (*Entries, error) {
	if len(one.Entries) == 0 {
		return nil, channel.ErrProtocol
	}
	entries := &Entries{List: make([]Entry, 0, min(count, len(one.Entries)))}
	for i, stored := range one.Entries[:min(count, len(one.Entries))] {
		entry, err := verified(f.digester, stored, f.reader.id, one.first+ledger.EntryID(i))
		if err != nil && i == 0 {
			return nil, err
		}
		if err != nil {
			f.reader.mark(PointBatchCut, one.first+ledger.EntryID(i), string(one.replicas.current()))
			break
		}
		entries.List = append(entries.List, entry)
	}
	if len(entries.List) < count {
		f.reader.mark(PointBatchShort, entries.end(), string(one.replicas.current()))
	}
	entries.answers = append(entries.answers, &one.Request)
	return entries, nil
}

// likeBatch reads what a batch read would return with single reads. How many come is guessed from the first entry's
// size, and what goes beyond the bound is cut off.
func (f *fetcher) likeBatch(first ledger.EntryID, limits batchLimits) (*Entries, error) {
	entries, err := f.singles(first, 1)
	if err != nil || limits.count == 1 {
		return entries, err
	}
	perEntry := f.frameBytes(&entries.List[0])
	used := wire.BatchResponseOverheadBytes + perEntry
	guess := min(int64(limits.count-1), max(0, limits.sizeBytes-used)/perEntry)
	if guess == 0 {
		return entries, nil
	}
	more, err := f.singles(first+1, int(guess))
	if err != nil {
		return entries, nil // the prefix is an answer; whoever asks for the next entry learns why
	}
	fitting := 0
	for i := range more.List {
		used += f.frameBytes(&more.List[i])
		if used > limits.sizeBytes {
			break
		}
		fitting++
	}
	for _, answer := range more.answers[fitting:] {
		answer.Release()
	}
	more.List, more.answers = more.List[:fitting], more.answers[:fitting]
	entries.take(more)
	return entries, nil
}

// frameBytes is what an entry takes in the frame of a batch read's answer.
func (f *fetcher) frameBytes(e *Entry) int64 {
	return int64(wire.BatchResponsePerEntryBytes + f.digester.Overhead() + len(e.Payload))
}

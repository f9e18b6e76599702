package server

import (
	"errors"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// answer is the answer to anything but an add, on its way to the writer.
type answer struct {
	frame []byte       // from host.Memory; nil if there is nobody to answer
	entry bookie.Entry // written behind the frame, if it was long
	lane  *lane        // whose read it answers; nil for what the reader answers itself
	bytes int64
}

func (a *answer) release(memory host.Memory) {
	if a.frame != nil {
		memory.Put(a.frame)
	}
	a.entry.Release()
	*a = answer{}
}

// executeAll is the work of one task of a pool.
func (s *Server) executeAll(p *pool) {
	var found bookie.Range
	for {
		l, r, ok := p.take()
		if !ok {
			return
		}
		a := answer{lane: l}
		if !l.connection.isBroken() {
			a = s.execute(&r, &found)
			a.lane = l
			l.read(a.bytes)
		}
		l.connection.deliver(a)
	}
}

// execute answers one read or batch read. Batches are found into a range that the task keeps.
func (s *Server) execute(r *wire.Request, found *bookie.Range) answer {
	if r.Ledger < 0 || r.Entry < ledger.NoEntry || r.Operation == wire.BatchRead && r.Entry < 0 {
		return s.refusal(r, wire.BadRequest)
	}
	if r.Flags&wire.Fencing != 0 {
		if code := s.fence(r); code != wire.OK {
			return s.refusal(r, code)
		}
	}
	if r.Operation == wire.BatchRead {
		return s.readBatch(r, found)
	}
	if r.Entry == ledger.NoEntry {
		return s.readLast(r)
	}
	e, err := s.store.Read(r.Ledger, r.Entry)
	if err != nil {
		return s.refusal(r, s.code(err))
	}
	return s.positive(r, e)
}

// readLast answers with a ledger's last entry. Whoever recovers the ledger asks for it to fence, which is done, and for where to
// begin, which is as well known from others: that the entry is lost here must not look as if the ledger were not fenced. If
// every bookie lost its own last entry, and no entry is lost everywhere, the ledger could not be recovered otherwise.
func (s *Server) readLast(r *wire.Request) answer {
	e, err := s.store.LastEntry(r.Ledger)
	if err == nil {
		return s.positive(r, e)
	}
	code := s.code(err)
	if code == wire.IOError && r.Flags&wire.Fencing != 0 && !errors.Is(err, bookie.ErrStopped) {
		code = s.config.UnknownAnswer
	}
	return s.refusal(r, code)
}

// fence does what a fencing read asks for, and returns once that is durable: the answer that follows, whichever it is,
// may be taken as proof that the ledger is fenced here.
func (s *Server) fence(r *wire.Request) wire.Code {
	if !r.HasMasterKey {
		return wire.Unauthorized
	}
	if err := s.store.Fence(r.Ledger, r.MasterKey); err != nil {
		return s.code(err)
	}
	s.h.Probe().Mark(host.Event{Name: PointFenceRead, A: int64(r.Ledger), B: int64(r.Entry)})
	return wire.OK
}

func (s *Server) positive(r *wire.Request, e bookie.Entry) answer {
	response := responseTo(r, wire.OK)
	head := wire.ReadResponseOverheadBytes
	if len(e.Body) >= s.config.GatheredFrameMin {
		frame := response.AppendPrefix(s.h.Memory().Get(head)[:0], len(e.Body))
		return answer{frame: frame, entry: e, bytes: int64(head + len(e.Body))}
	}
	response.Body = e.Body
	frame := response.Append(s.h.Memory().Get(head + len(e.Body))[:0])
	e.Release()
	return answer{frame: frame, bytes: int64(len(frame))}
}

// refusal is the answer without a body.
func (s *Server) refusal(r *wire.Request, code wire.Code) answer {
	response := responseTo(r, code)
	frame := response.Append(s.h.Memory().Get(response.FrameBytes(0))[:0])
	return answer{frame: frame, bytes: int64(len(frame))}
}

func responseTo(r *wire.Request, code wire.Code) wire.Response {
	return wire.Response{
		Version: r.Version, Operation: r.Operation, Code: code,
		Ledger: r.Ledger, Entry: r.Entry, RequestID: r.RequestID,
	}
}

// readBatch answers with as many following entries as the request and the server allow, as BookKeeper counts them: the
// whole frame is at most as long as asked for, except that the first entry is always there. Each entry is copied once,
// from where the store has it into the frame.
func (s *Server) readBatch(r *wire.Request, found *bookie.Range) answer {
	limits := bookie.Limits{
		Entries:       s.config.BatchReadMax,
		Bytes:         max(min(r.MaxSize, s.config.BatchReadBytes)-wire.BatchResponseOverheadBytes, 1),
		PerEntryBytes: wire.BatchResponsePerEntryBytes,
	}
	if r.MaxCount > 0 {
		limits.Entries = min(limits.Entries, int(r.MaxCount))
	}
	if s.h.Probe().Perhaps(PointBatchOfOne) {
		limits.Entries = 1
	}
	if err := s.store.ReadInto(found, r.Ledger, r.Entry, limits); err != nil {
		return s.refusal(r, s.code(err))
	}
	defer found.Release()
	response := responseTo(r, wire.OK)
	bodyBytes := int(found.Bytes()) + len(found.Bodies)*wire.BatchResponsePerEntryBytes
	frame := response.AppendPrefix(s.h.Memory().Get(response.FrameBytes(bodyBytes))[:0], bodyBytes)
	for _, body := range found.Bodies {
		frame = wire.AppendEntry(frame, body)
	}
	return answer{frame: frame, bytes: int64(len(frame))}
}

package replicated

import (
	"time"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
	"lakebed/model"
)

// Ledgers of foreign writers have ids from ForeignLedgers on. Their entries begin just below the point at which an entry's
// id no longer fits 32 signed bits, as if everything before had been written and trimmed. ForeignFirst is a multiple of
// 60, so that numbers counted from there have the same write sets in ensembles of up to six.
const (
	ForeignLedgers ledger.ID      = 1 << 40
	ForeignFirst   ledger.EntryID = 1<<31 - 8
)

// foreignEntries is how many entries a foreign writer writes at most; some come before the edge and some behind it.
const foreignEntries = 24

// foreignPatience bounds each step of a foreign writer: a dial, an add, a call of the store.
const foreignPatience = 300 * time.Millisecond

// Bare is what a session needs to write a ledger without the client: it speaks to the store and to bookies itself.
type Bare struct {
	Store   metadata.Store
	Channel channel.Config
	// Notices says that the marks of the engine's writers are recorded: then those of this one must be, too.
	Notices bool
}

// UseBare lets a session do the chapter "foreign".
func (s *Session) UseBare(b Bare) { s.bare = &b }

// stranger is a session while it writes a ledger without the client.
type stranger struct {
	*Session
	ledgerID ledger.ID
	book     *book
	handle   model.Handle
	metadata ledger.Metadata
	digester *ledger.Digester
	channels map[ledger.BookieID]*channel.Channel
	lac      ledger.EntryID
	length   int64
}

// foreign writes a ledger as a client of another make does: it places entries by arithmetic of its own, counts the ack
// quorum itself and walks away. Half of the time it then has the engine's client recover the ledger; the last look does
// in any case.
func (s *Session) foreign() {
	if s.bare == nil || !s.lab.mayCreate() {
		s.catchUp()
		return
	}
	if !s.does() {
		s.lab.notCreated()
		return
	}
	w := s.createForeign()
	if w == nil {
		s.lab.notCreated()
		s.group.Sleep(createPause)
		return
	}
	for range 1 + s.rand.IntN(foreignEntries) {
		if w.does() && !w.append() || s.rand.IntN(2) == 0 && !s.goesOn() {
			break
		}
	}
	w.close()
	if s.rand.IntN(2) == 0 && s.goesOn() {
		s.recoverForeign(w.book)
	}
}

// createForeign makes the metadata of an open ledger: one fragment that is over, and one that begins at ForeignFirst.
// Nil: it did not work, or it is not known whether it did.
func (s *Session) createForeign() *stranger {
	config := metadata.DefaultLedgersConfig()
	config.Name = "foreign-" + s.name
	config.Retry.PauseMin, config.Retry.PauseMax = foreignPatience/10, foreignPatience
	ledgers := metadata.NewLedgers(s.h, s.group, s.bare.Store, config)
	names, err := s.bare.Store.List(config.Layout.WritableRoot(), host.Within(s.h, s.group, foreignPatience))
	if err != nil {
		return nil
	}
	q := s.lab.mix.Quorum
	var writable metadata.Placement
	for _, name := range names {
		if b := ledger.BookieID(name); b.Validate() == nil {
			writable.Writable = append(writable.Writable, b)
		}
	}
	ensemble, err := writable.Choose(q.Ensemble, nil, s.rand)
	if err != nil {
		return nil
	}
	m := ledger.Metadata{
		Quorum: q, State: ledger.Open, LastEntry: ledger.NoEntry, Digest: ledger.CRC32C, Password: password(),
		Fragments: []ledger.Fragment{{First: 0, Ensemble: ensemble}, {First: ForeignFirst, Ensemble: ensemble}},
	}
	token := s.lab.Recorder.Begin(s.op(model.LedgerCreate, 0))
	stored, err := ledgers.CreateAt(s.lab.foreignID(), m, host.Within(s.h, s.group, foreignPatience))
	if err != nil {
		s.lab.Recorder.Drop(token, model.Unknown)
		return nil
	}
	s.lab.Recorder.End(token, model.OK, func(op *model.ClusterOp) { op.Ledger = model.LedgerID(stored.ID) })
	digester, err := ledger.NewDigester(m.Digest, m.Password)
	if err != nil {
		return nil
	}
	w := &stranger{
		Session: s, ledgerID: stored.ID, handle: s.lab.Recorder.Handle(), metadata: m, digester: digester,
		channels: map[ledger.BookieID]*channel.Channel{}, lac: ForeignFirst - 1,
	}
	// The last entry of the first fragment is there, since a recovery may ask it how long the ledger is. It is empty, so
	// that the history can do without it.
	if len(w.store(ForeignFirst-1, w.seal(ForeignFirst-1, nil))) < q.Ack {
		w.close()
		return nil
	}
	w.book = s.lab.addForeign(stored.ID)
	return w
}

func (w *stranger) close() {
	for _, b := range host.SortedKeys(w.channels) {
		w.channels[b].Close()
	}
}

// append writes the next entry to bookies of its write set, in any order, until an ack quorum has it; the others never
// get it, as if the writer had died then. False: there was no ack quorum, and the writer is over.
func (w *stranger) append() bool {
	payload := w.lab.payload(w.rand)
	entry := w.lac + 1
	op := w.op(model.LedgerAppend, w.ledgerID)
	op.Handle, op.Digest, op.Length = w.handle, digest(payload), int64(len(payload))
	token := w.lab.Recorder.Begin(op)
	by := w.store(entry, w.seal(entry, payload))
	if len(by) < w.metadata.Quorum.Ack {
		w.lab.Recorder.End(token, model.Unknown, nil)
		return false
	}
	w.lac, w.length = entry, w.length+int64(len(payload))
	if w.bare.Notices {
		w.lab.Recorder.Notice(model.Notice{
			Ledger: op.Ledger, Entry: model.EntryID(entry), Writer: w.handle, Client: w.id, Kind: model.NoticeAcked,
		}, by)
	}
	w.lab.Recorder.End(token, model.OK, func(op *model.ClusterOp) { op.Entry = model.EntryID(entry) })
	w.book.confirmed(entry)
	return true
}

// seal makes the bytes that bookies store of the next entry.
func (w *stranger) seal(entry ledger.EntryID, payload []byte) []byte {
	stored := make([]byte, w.digester.Overhead()+len(payload))
	ledger.PutHeader(stored, w.ledgerID, entry, entry-1, w.length+int64(len(payload)))
	copy(stored[w.digester.Overhead():], payload)
	w.digester.Seal(stored)
	return stored
}

// store names the bookies that have stored an entry.
func (w *stranger) store(entry ledger.EntryID, stored []byte) []model.Node {
	var by []model.Node
	q := w.metadata.Quorum
	for _, i := range w.rand.Perm(q.Write) {
		bookie := w.metadata.Last().Ensemble[(int64(entry)+int64(i))%int64(q.Ensemble)]
		if len(by) < q.Ack && w.add(bookie, stored) {
			by = append(by, model.Node(bookie))
		}
	}
	return by
}

// add stores an entry on one bookie.
func (w *stranger) add(bookie ledger.BookieID, stored []byte) bool {
	c := w.channels[bookie]
	if c == nil || c.Err() != nil {
		if c != nil {
			c.Close()
			delete(w.channels, bookie)
		}
		var err error
		if c, err = channel.Dial(w.h, w.group, string(bookie), host.Within(w.h, w.group, foreignPatience), w.bare.Channel); err != nil {
			return false
		}
		w.channels[bookie] = c
	}
	return c.AddEntry(channel.Add{MasterKey: ledger.MasterKeyOf(password()), Body: stored}, foreignPatience) == nil
}

// recoverForeign has the engine's client find the end of a foreign ledger, and reads it.
func (s *Session) recoverForeign(b *book) {
	v, err := s.open(b, true, false)
	if err != nil {
		return
	}
	defer v.reader.Close()
	last := v.reader.LastAddConfirmed()
	for next, failures := b.first, 0; next <= last && failures < 3 && s.goesOn(); {
		got := v.batch(next, s.lab.mix.BatchCountMax, s.lab.mix.BatchBytesMax)
		if got == next {
			failures++
		}
		next = got
	}
}

// foreignID is an id that nobody else uses.
func (l *Lab) foreignID() ledger.ID {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.foreigners++
	return ForeignLedgers + ledger.ID(l.foreigners)
}

// addForeign adds a ledger that only the last look, and its own session, read.
func (l *Lab) addForeign(id ledger.ID) *book {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	b := &book{lab: l, id: id, first: ForeignFirst, last: ForeignFirst - 1}
	l.foreign = append(l.foreign, b)
	return b
}

// counted is how the history numbers an entry: of a foreign ledger from its first one on, since the checkers count the
// entries of a ledger from zero.
func counted(id model.LedgerID, e model.EntryID) model.EntryID {
	if ledger.ID(id) < ForeignLedgers || e < model.EntryID(ForeignFirst)-1 {
		return e
	}
	return e - model.EntryID(ForeignFirst)
}

// countedOp numbers all entries of an operation so.
func countedOp(op model.ClusterOp, items []model.Item) (model.ClusterOp, []model.Item) {
	if ledger.ID(op.Ledger) < ForeignLedgers {
		return op, items
	}
	op.Entry, op.Last, op.Bound = counted(op.Ledger, op.Entry), counted(op.Ledger, op.Last), counted(op.Ledger, op.Bound)
	for i := range items {
		items[i].Entry = counted(op.Ledger, items[i].Entry)
	}
	return op, items
}

// countedWrite does the same for a write of metadata, and leaves the fragment out that lies before the first entry.
func countedWrite(w Written) Written {
	id := w.Write.Ledger
	if ledger.ID(id) < ForeignLedgers {
		return w
	}
	w.Write.Last = counted(id, w.Write.Last)
	var kept []model.LedgerFragment
	for _, f := range w.Fragments {
		if f.First >= model.EntryID(ForeignFirst) {
			kept = append(kept, model.LedgerFragment{First: counted(id, f.First), Ensemble: f.Ensemble})
		}
	}
	w.Fragments = kept
	return w
}

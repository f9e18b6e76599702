package protocol

import (
	"slices"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/internal/invariant"
)

// tail is the entries that a recovery is looking for, in order from first.
type tail struct {
	first ledger.EntryID
	reads []tailRead
	max   int
	over  bool // the entry at first is absent: what follows is no part of the ledger
}

// newTail looks for entries from first on, so many at once.
func newTail(first ledger.EntryID, most int) tail {
	return tail{first: first, max: most}
}

// read finds the answers for an entry; nil if it is decided, or not asked for yet.
func (t *tail) read(e ledger.EntryID) *tailRead {
	if t.over || e < t.first || e >= t.first+ledger.EntryID(len(t.reads)) {
		return nil
	}
	return &t.reads[e-t.first]
}

func (t tail) clone() tail {
	t.reads = slices.Clone(t.reads)
	return t
}

// readAhead asks for entries until ReadsMax are looked for or found and not written again yet: that bounds the bytes
// that the owner holds.
func (r *Recovery) readAhead() {
	t := &r.tail
	for !t.over && len(t.reads)+r.writer.Pending() < t.max {
		entry := t.first + ledger.EntryID(len(t.reads))
		t.reads = append(t.reads, tailRead{})
		r.askAll(entry, r.options.ReadsDoNotFence)
	}
}

// askAll reads an entry from its whole write set at once. With the fence in the read each bookie that says "absent"
// also refuses the writer's add that may still be on its way to it (bookkeeper#2614).
func (r *Recovery) askAll(entry ledger.EntryID, plain bool) {
	f := r.metadata.FragmentOf(entry)
	set := r.quorum.WriteSet(entry)
	for i := range set.Len() {
		index := set.At(i)
		r.out.add(Effect{Kind: SendRecoveryRead, First: entry, Last: entry, Index: index, Bookie: f.Ensemble[index], Plain: plain})
	}
}

// ReadAnswered takes the answer to a read of an entry. True: this copy is the one to send when SendAdd asks for the entry;
// its payload is needed until EntriesAcked.
func (r *Recovery) ReadAnswered(entry ledger.EntryID, index int, bookie ledger.BookieID, a ReadAnswer) bool {
	t := r.asked(entry, index, bookie)
	if t == nil {
		return false
	}
	if a.Outcome == ReadUnauthorized {
		r.finish(Unauthorized, nil, 0)
		return false
	}
	kept := t.take(index, a) // the first good copy: copies differ in header and digest, never in payload and length
	if r.phase == measuring {
		r.measure()
		return false
	}
	r.advance()
	return kept
}

// asked finds the read that an answer belongs to; nil if it no longer matters.
func (r *Recovery) asked(entry ledger.EntryID, index int, bookie ledger.BookieID) *tailRead {
	var t *tailRead
	switch {
	case r.phase == readingTail:
		t = r.tail.read(entry)
	case r.phase == measuring && entry == r.lac:
		t = &r.measured
	}
	if t == nil || !r.quorum.WriteSet(entry).Contains(index) || r.metadata.FragmentOf(entry).Ensemble[index] != bookie {
		return nil
	}
	return t
}

// advance takes what was found in order, up to the first entry that is absent: a hole ends the ledger, and what lies
// behind it was never acknowledged.
func (r *Recovery) advance() {
	t := &r.tail
	for r.phase == readingTail && !t.over && len(t.reads) > 0 {
		switch t.reads[0].judge(r.quorum) {
		case undecided:
			return
		case found:
			entry := r.writer.append(t.reads[0].length)
			invariant.Check(entry == t.first, "entries are written again in order")
			t.first++
			t.reads = append(t.reads[:0], t.reads[1:]...)
			if r.relay(); r.phase == readingTail {
				r.readAhead()
			}
		case absent:
			t.over, t.reads = true, t.reads[:0]
		case damaged:
			r.finish(Damaged, nil, 0)
			return
		default:
			r.finish(Undecided, nil, 0)
			return
		}
	}
	r.closeIfWritten()
}

// relay hands on what the writer asks for and tells.
func (r *Recovery) relay() {
	for _, e := range r.writer.Take() {
		switch e.Kind {
		case HandleFailed:
			r.finish(e.Failure, nil, 0)
		case EntriesFailed: // told by Ended
		default:
			r.out.add(e)
		}
	}
}

// AddAnswered takes a bookie's answer to an add.
func (r *Recovery) AddAnswered(entry ledger.EntryID, index int, bookie ledger.BookieID, outcome AddOutcome) {
	if r.phase == readingTail {
		r.writer.AddAnswered(entry, index, bookie, outcome)
		r.written()
	}
}

// ReplacementsChosen answers AskReplacements.
func (r *Recovery) ReplacementsChosen(chosen []Replacement) {
	if r.phase == readingTail {
		r.writer.ReplacementsChosen(chosen)
		r.written()
	}
}

// written goes on after the writer had an input: it may have room for more, or be done.
func (r *Recovery) written() {
	r.relay()
	if r.phase == readingTail {
		r.readAhead()
		r.closeIfWritten()
	}
}

// closeIfWritten closes once the end is known and all before it is written again.
func (r *Recovery) closeIfWritten() {
	if r.phase != readingTail || !r.tail.over || r.writer.Pending() > 0 || r.writer.Changing() {
		return
	}
	if r.writer.LastAddConfirmed() == r.lac && r.lac != ledger.NoEntry {
		r.phase, r.measured = measuring, tailRead{}
		r.askAll(r.lac, true)
		return
	}
	r.writeClose()
}

// measure takes the ledger's length from its last entry, which was acknowledged: somebody must have it.
func (r *Recovery) measure() {
	switch {
	case r.measured.found:
		r.writer.lacLength = r.measured.length
		r.writeClose()
	case r.measured.answered.Len() == r.quorum.Write:
		why := Undecided
		if (r.measured.absent | r.measured.corrupt).Len() == r.quorum.Write {
			why = Damaged
		}
		r.finish(why, nil, 0)
	}
}

func (r *Recovery) writeClose() {
	r.phase = closingUp
	r.write.begin(&r.out, r.closed(r.metadata), r.version)
}

// closed is base with the fragments of the writer in place of the last one, closed behind the last entry written.
func (r *Recovery) closed(base *ledger.Metadata) *ledger.Metadata {
	m, kept := base.Clone(), len(r.metadata.Fragments)-1
	m.Fragments = append(m.Fragments[:kept], r.writer.metadata.Clone().Fragments[kept:]...)
	m.State, m.LastEntry, m.Length = ledger.Closed, r.writer.lac, r.writer.lacLength
	return &m
}

// closeOver closes over metadata in recovery that somebody else wrote: another recovery's mark, or a copy of an earlier
// fragment put elsewhere. If the last fragment is another one, what was fenced is not what it should be: begin again.
func (r *Recovery) closeOver(m *ledger.Metadata, v metadata.Version) {
	last, ours := m.Last(), r.metadata.Last()
	if len(m.Fragments) == len(r.metadata.Fragments) && last.First == ours.First && slices.Equal(last.Ensemble, ours.Ensemble) {
		if !r.write.tried(r.options.AttemptsMax) {
			r.finish(MetadataFailed, nil, 0)
			return
		}
		r.write.again(&r.out, r.closed(m), v)
		return
	}
	if r.restarts++; r.restarts > r.options.RestartsMax {
		r.finish(MetadataFailed, nil, 0)
		return
	}
	r.metadata, r.version = m, v
	r.fence()
}

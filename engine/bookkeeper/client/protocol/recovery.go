package protocol

import (
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/internal/invariant"
)

// phase is where a recovery is.
type phase uint8

const (
	notStarted  phase = iota
	marking           // the metadata are being set in recovery
	fencing           // last-entry reads
	readingTail       // reading the tail and writing it again
	measuring         // the last entry is read for the ledger's length
	closingUp         // the closing write
	recovered         // over, in whatever way
)

// Recovery closes a ledger whose writer may be dead, or may not know that it is to be. The package comment says how to
// drive it.
type Recovery struct {
	options  RecoveryOptions
	quorum   ledger.Quorum
	metadata *ledger.Metadata // as read or stored last; placement goes by them, frozen, while the tail is read
	version  metadata.Version

	phase    phase
	restarts int
	open     IndexSet       // bookies that may not be fenced yet
	silent   IndexSet       // of these, those that have not answered
	lac      ledger.EntryID // where the tail starts − 1
	tail     tail
	measured tailRead
	writer   Writer
	write    write
	out      outbox
}

// NewRecovery makes a recovery from metadata that were read; they may be stale. They must be valid, with at most
// EnsembleMax bookies in an ensemble.
func NewRecovery(o RecoveryOptions, m *ledger.Metadata, v metadata.Version) *Recovery {
	invariant.Check(m.Quorum.Validate() == nil && m.Quorum.Ensemble <= EnsembleMax, "quorums are valid and fit a set")
	return &Recovery{options: o.withDefaults(), quorum: m.Quorum, metadata: m, version: v, lac: ledger.NoEntry}
}

// Take returns the effects since the last call. They are whole until the next call.
func (r *Recovery) Take() []Effect { return r.out.take() }

// Start begins.
func (r *Recovery) Start() {
	invariant.Check(r.phase == notStarted, "a recovery starts once")
	r.proceed(r.metadata, r.version)
}

// proceed goes on from metadata as they were read: to closed by adopting them, to in recovery by going on with them, to
// open by setting them in recovery.
func (r *Recovery) proceed(m *ledger.Metadata, v metadata.Version) {
	r.metadata, r.version = m, v
	switch m.State {
	case ledger.Closed:
		r.finish(0, m, v)
	case ledger.InRecovery:
		r.fence()
	default:
		marked := m.Clone()
		marked.State = ledger.InRecovery
		if r.phase != marking {
			r.phase, r.write.attempt = marking, 0
		}
		r.write.again(&r.out, &marked, v)
	}
}

// MetadataAnswered takes the answer to WriteMetadata or ReadMetadata.
func (r *Recovery) MetadataAnswered(a MetadataAnswer) {
	step := r.write.step
	r.write.step = noCall
	if step == noCall || r.phase == recovered {
		return
	}
	switch a.Outcome {
	case MetadataApplied:
		r.applied(a.Version)
	case MetadataFound:
		r.found(a)
	case MetadataMissing:
		if step == writing {
			r.finish(Deleted, nil, 0)
			return
		}
		r.retry(writing)
	case MetadataUnavailable:
		r.retry(step)
	default:
		r.retry(reading)
	}
}

// retry makes a call again: a write as it was, or a read.
func (r *Recovery) retry(step writeStep) {
	switch {
	case !r.write.tried(r.options.AttemptsMax):
		r.finish(MetadataFailed, nil, 0)
	case step == writing:
		r.write.again(&r.out, r.write.proposed, r.write.expected)
	default:
		r.write.read(&r.out)
	}
}

func (r *Recovery) applied(v metadata.Version) {
	if r.phase == closingUp {
		r.finish(0, r.write.proposed, v)
		return
	}
	r.metadata, r.version = r.write.proposed, v
	r.fence()
}

// found judges metadata that were read because a write met others, or because its outcome is open.
func (r *Recovery) found(a MetadataAnswer) {
	m := a.Metadata
	switch {
	case m.Validate() != nil || m.Quorum != r.quorum:
		r.finish(Diverged, nil, 0)
	case m.State == ledger.Closed:
		r.finish(0, m, a.Version) // whoever closed it: what its metadata say is the ledger
	case r.phase == marking:
		r.proceed(m, a.Version) // the writer may have changed the ensemble meanwhile: fence the one that is last now
	case m.State == ledger.Open:
		r.retry(reading) // stale: it was in recovery before
	default:
		r.closeOver(m, a.Version)
	}
}

// fence asks the last ensemble. Ledgers in recovery have no writer that could add a fragment, so it is the one that a
// writer which does not know yet would send to.
func (r *Recovery) fence() {
	r.phase = fencing
	r.lac = ledger.NoEntry
	ensemble := r.metadata.Last().Ensemble
	r.open, r.silent = 0, 0
	for i, b := range ensemble {
		r.open, r.silent = r.open.With(i), r.silent.With(i)
		r.out.add(Effect{Kind: SendFencingLACRead, First: ledger.NoEntry, Last: ledger.NoEntry, Index: i, Bookie: b})
	}
}

// LACAnswered takes the answer to a fencing last-entry read.
func (r *Recovery) LACAnswered(index int, bookie ledger.BookieID, a LACAnswer) {
	if r.phase != fencing || index < 0 || index >= r.quorum.Ensemble || !r.silent.Has(index) {
		return
	}
	if r.metadata.Last().Ensemble[index] != bookie {
		return // asked before the recovery began again
	}
	r.silent = r.silent.Without(index)
	switch a.Outcome {
	case ReadUnauthorized:
		r.finish(Unauthorized, nil, 0)
		return
	case ReadFound:
		r.lac = max(r.lac, a.LAC)
		r.open = r.open.Without(index)
	case ReadAbsent, ReadUnknown, ReadCorrupt:
		r.open = r.open.Without(index)
	}
	switch {
	case covered(r.quorum, r.open):
		r.beginTail()
	case r.silent == 0:
		r.finish(Uncovered, nil, 0)
	}
}

// beginTail fixes where the tail starts. The last fragment started behind a LAC, so the LAC is not below it
// (bookkeeper#2615): below, entries lie in fragments whose bookies were not fenced, and new fragments cannot go there.
func (r *Recovery) beginTail() {
	if !r.options.NoLowerBound {
		r.lac = max(r.lac, r.metadata.Last().First-1)
	}
	r.phase = readingTail
	r.writer = newLocalWriter(WriterOptions{
		WindowMax: r.options.ReadsMax, EnsembleChangesMax: r.options.EnsembleChangesMax,
	}, r.metadata, r.version, r.lac)
	r.tail = newTail(r.lac+1, r.options.ReadsMax)
	r.readAhead()
}

// finish is the last thing a recovery does.
func (r *Recovery) finish(why Failure, m *ledger.Metadata, v metadata.Version) {
	r.phase = recovered
	e := Effect{Kind: Ended, Failure: why, Metadata: m, Version: v, First: ledger.NoEntry, Last: ledger.NoEntry, LAC: ledger.NoEntry}
	if m != nil {
		e.First, e.Last, e.LAC, e.Length = m.LastEntry, m.LastEntry, m.LastEntry, m.Length
	}
	r.out.add(e)
}

// Metadata is what the recovery goes by; Version is theirs in the store.
func (r *Recovery) Metadata() (*ledger.Metadata, metadata.Version) { return r.metadata, r.version }

// LastAddConfirmed is the LAC that the tail starts behind, once the ensemble is fenced.
func (r *Recovery) LastAddConfirmed() ledger.EntryID { return r.lac }

// WantsLAC reports whether an answer to a last-entry read may still matter. A request whose answer does not may be
// forgotten; if it is still on its way it fences, which is as well.
func (r *Recovery) WantsLAC() bool { return r.phase <= fencing }

// WantsRead reports the same for a read of an entry.
func (r *Recovery) WantsRead(entry ledger.EntryID) bool {
	switch r.phase {
	case readingTail:
		return r.tail.read(entry) != nil
	case measuring:
		return entry == r.lac
	}
	return false
}

// WantsAdd reports the same for an add.
func (r *Recovery) WantsAdd(entry ledger.EntryID) bool {
	return r.phase == readingTail && entry > r.writer.lac
}

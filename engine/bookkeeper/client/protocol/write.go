package protocol

import (
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/internal/invariant"
)

// writeStep is which metadata call is under way.
type writeStep uint8

const (
	noCall writeStep = iota
	writing
	reading
)

// write is the one metadata call that may be under way, and what it is for.
type write struct {
	step     writeStep
	proposed *ledger.Metadata
	expected metadata.Version
	attempt  int
}

// begin starts a conditional write for a new purpose.
func (w *write) begin(out *outbox, proposed *ledger.Metadata, expected metadata.Version) {
	w.attempt = 0
	w.again(out, proposed, expected)
}

// again writes for the same purpose.
func (w *write) again(out *outbox, proposed *ledger.Metadata, expected metadata.Version) {
	invariant.Check(w.step == noCall, "one metadata call at a time")
	w.step, w.proposed, w.expected = writing, proposed, expected
	out.add(Effect{Kind: WriteMetadata, Metadata: proposed, Version: expected, Attempt: w.attempt})
}

func (w *write) read(out *outbox) {
	invariant.Check(w.step == noCall, "one metadata call at a time")
	w.step = reading
	out.add(Effect{Kind: ReadMetadata, Attempt: w.attempt})
}

// tried counts an attempt that settled nothing; false: that was the last one.
func (w *write) tried(most int) bool {
	w.attempt++
	return w.attempt < most
}

// MetadataAnswered takes the answer to WriteMetadata or ReadMetadata.
func (w *Writer) MetadataAnswered(a MetadataAnswer) {
	step := w.write.step
	w.write.step = noCall
	switch {
	case step == noCall || w.status == ended:
		return
	case step == writing && !w.closes(w.write.proposed):
		w.changeWritten(a)
	case step == writing:
		w.closeWritten(a)
	default:
		w.metadataRead(a)
	}
}

func (w *Writer) closes(m *ledger.Metadata) bool { return m.State == ledger.Closed }

// changeWritten takes the answer to the write of an ensemble change. If the writer was closed or failed meanwhile, the
// change means nothing any more but what the store has does.
func (w *Writer) changeWritten(a MetadataAnswer) {
	switch w.status {
	case running:
	case closing:
		if a.Outcome == MetadataApplied {
			w.metadata, w.version = w.write.proposed, a.Version
		}
		w.writeClose()
		return
	default:
		if a.Outcome == MetadataApplied {
			w.metadata, w.version = w.write.proposed, a.Version
		}
		return
	}
	switch a.Outcome {
	case MetadataApplied:
		w.install(w.write.proposed, a.Version)
		w.settle()
	case MetadataMissing:
		w.fail(Deleted)
	default:
		w.notWritten(a.Outcome)
	}
}

// notWritten goes on after a write that was refused, or whose outcome is open.
func (w *Writer) notWritten(outcome MetadataOutcome) {
	if !w.write.tried(w.options.AttemptsMax) {
		w.giveUp()
		return
	}
	if outcome == MetadataUnavailable {
		w.write.again(&w.out, w.write.proposed, w.write.expected)
		return
	}
	w.write.read(&w.out)
}

func (w *Writer) giveUp() {
	if w.status == closing {
		w.end(MetadataFailed, nil, w.window.next())
		return
	}
	w.fail(MetadataFailed)
}

// metadataRead judges what is stored instead of what was to be written.
func (w *Writer) metadataRead(a MetadataAnswer) {
	if w.status == failed {
		return
	}
	switch a.Outcome {
	case MetadataFound:
		w.judge(a.Metadata, a.Version)
	case MetadataMissing: // a read may be stale, a write is not: let it tell
		if !w.write.tried(w.options.AttemptsMax) {
			w.giveUp()
			return
		}
		if w.status == closing {
			w.write.again(&w.out, w.closed(w.metadata), w.version)
			return
		}
		w.write.again(&w.out, w.write.proposed, w.write.expected)
	default:
		if !w.write.tried(w.options.AttemptsMax) {
			w.giveUp()
			return
		}
		w.write.read(&w.out)
	}
}

// judge goes on from metadata that were read. They may be stale, so they prove nothing as long as the ledger is open:
// what is still wanted, even if that is no change at all, is written at their version, and only the answer "applied"
// puts them in force (bookkeeper#1886). Closed and in recovery are for ever, so they need no proof.
func (w *Writer) judge(m *ledger.Metadata, v metadata.Version) {
	switch {
	case !w.plausible(m):
		w.endOrFail(Diverged, nil, w.window.next())
	case m.State == ledger.Closed:
		w.foundClosed(m, v)
	case m.State == ledger.InRecovery:
		w.endOrFail(Fenced, nil, w.window.next())
	case w.status == closing:
		w.write.again(&w.out, w.closed(m), v)
	case w.options.AckBeforeMetadata:
		w.write.again(&w.out, w.metadata, v)
	default:
		w.write.again(&w.out, w.swapped(m), v)
	}
}

// plausible reports whether metadata can be a state of this writer's ledger: nobody but the writer adds fragments to an
// open ledger, so none starts behind LAC+1.
func (w *Writer) plausible(m *ledger.Metadata) bool {
	if m.Validate() != nil || m.Quorum != w.quorum {
		return false
	}
	return m.State != ledger.Open || m.Last().First <= w.lac+1
}

// foundClosed ends a writer whose ledger is closed. With the end it wanted itself it has what it asked for, whoever did
// it: perhaps its own write, whose answer was lost.
func (w *Writer) foundClosed(m *ledger.Metadata, v metadata.Version) {
	switch {
	case m.LastEntry < w.lac:
		w.endOrFail(Diverged, m, m.LastEntry+1)
	case w.status == closing && m.LastEntry == w.lac && m.Length == w.lacLength:
		w.metadata, w.version = m, v
		w.end(0, m, m.LastEntry+1)
	default:
		w.endOrFail(ClosedElsewhere, m, m.LastEntry+1)
	}
}

func (w *Writer) endOrFail(why Failure, m *ledger.Metadata, absentFrom ledger.EntryID) {
	if w.status == closing {
		w.end(why, m, absentFrom)
		return
	}
	w.failFrom(why, absentFrom)
}

// Close stops acknowledging, and closes the ledger behind the last acknowledged entry. Ended follows.
func (w *Writer) Close() {
	invariant.Check(!w.local, "a recovery closes its ledger itself")
	switch {
	case w.status == closing || w.status == ended:
		return
	case w.status == failed && !w.failure.Closable():
		w.end(w.failure, nil, w.window.next())
		return
	}
	w.status = closing
	w.change.stop()
	if w.write.step == noCall {
		w.writeClose()
	} // else the answer to the call under way goes on
}

func (w *Writer) writeClose() { w.write.begin(&w.out, w.closed(w.metadata), w.version) }

// closed is base, closed behind the LAC.
func (w *Writer) closed(base *ledger.Metadata) *ledger.Metadata {
	m := base.Clone()
	m.State, m.LastEntry, m.Length = ledger.Closed, w.lac, w.lacLength
	return &m
}

func (w *Writer) closeWritten(a MetadataAnswer) {
	switch a.Outcome {
	case MetadataApplied:
		w.metadata, w.version = w.write.proposed, a.Version
		w.end(0, w.metadata, w.lac+1)
	case MetadataMissing:
		w.end(Deleted, nil, w.window.next())
	default:
		w.notWritten(a.Outcome)
	}
}

// end is the last thing a writer does.
func (w *Writer) end(why Failure, m *ledger.Metadata, absentFrom ledger.EntryID) {
	reason := why
	if reason == 0 {
		reason = CloseAsked
	}
	w.failPending(reason, absentFrom)
	w.status, w.failure = ended, reason
	w.out.add(Effect{
		Kind: Ended, Failure: why, First: w.lac, Last: w.lac, LAC: w.lac, Length: w.lacLength, Metadata: m, Version: w.version,
	})
}

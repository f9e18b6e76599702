package protocol

import (
	"fmt"
	"math/bits"
	"strings"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
)

// EffectKind says what an effect asks of its owner, or tells it.
type EffectKind uint8

// The effects. Each "ask" is answered by exactly one call of the input named with it, also when the answer is only that
// there was none in time. At most one of AskReplacements, WriteMetadata and ReadMetadata is open at a time.
const (
	// SendAdd: send entry First to Bookie at Index, with the flag for recovery if Recovery is set. LAC and Length belong
	// into the entry's header and are the same each time it is sent. Answer: AddAnswered.
	SendAdd EffectKind = iota + 1
	// AskReplacements: choose bookies for the indexes in Set, none of them in Exclude. Attempt is 0, or counts the rounds
	// in which all bookies failed; wait the longer the higher it is. Answer: ReplacementsChosen.
	AskReplacements
	// WriteMetadata: put Metadata if the version is Version. Attempt counts the tries for one purpose, from 0; wait before
	// all but the first. Answer: MetadataAnswered.
	WriteMetadata
	// ReadMetadata: sync, then get. A stale value costs time and harms nothing. Answer: MetadataAnswered.
	ReadMetadata
	// SendFencingLACRead: a last-entry read with the flag for fencing to Bookie at Index. Answer: LACAnswered.
	SendFencingLACRead
	// SendRecoveryRead: read entry First from Bookie at Index, with the flags for fencing and high priority, or without
	// the former if Plain is set. Answer: ReadAnswered.
	SendRecoveryRead

	// EntriesAcked: entries First to Last are acknowledged, in order; the LAC is Last. What was counted are the bookies at
	// the indexes in Set, of the last ensemble of Metadata. Payloads of recovered entries are no longer needed.
	EntriesAcked
	// EntriesFailed: entries First to Last were not acknowledged, for the reason Failure. With Absent they are not in the
	// ledger and never will be; without it they may be found by a recovery, now or later: outcome unknown.
	EntriesFailed
	// EnsembleChanged: Metadata is in force, the bookies in Set are new. Sends to them follow.
	EnsembleChanged
	// HandleFailed: the writer takes no entries any more. Close it.
	HandleFailed
	// Ended: the core is done and takes no more inputs. Without a Failure, Metadata is the closed ledger's.
	Ended
)

func (k EffectKind) String() string {
	names := [...]string{
		"none", "send-add", "ask-replacements", "write-metadata", "read-metadata", "send-fencing-lac-read", "send-recovery-read",
		"entries-acked", "entries-failed", "ensemble-changed", "handle-failed", "ended",
	}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("EffectKind(%d)", uint8(k))
}

// Effect is one thing to do or to know. Which fields mean something, its kind says. What its pointers and slices lead to
// must not be changed.
type Effect struct {
	Kind        EffectKind
	Recovery    bool
	Resend      bool // of SendAdd: to a bookie that came in by an ensemble change
	Plain       bool
	Absent      bool
	Failure     Failure
	Index       int
	Attempt     int
	First, Last ledger.EntryID
	LAC         ledger.EntryID
	Length      int64 // of the ledger's payload up to and including the entry
	Bookie      ledger.BookieID
	Set         IndexSet
	Exclude     []ledger.BookieID
	Metadata    *ledger.Metadata
	Version     metadata.Version
}

// Replacement puts a bookie at an index of the ensemble.
type Replacement struct {
	Index  int
	Bookie ledger.BookieID
}

// EnsembleMax bounds the ensemble, so that a set of its indexes is one word.
const EnsembleMax = 64

// IndexSet is a set of ensemble indexes.
type IndexSet uint64

// Has reports whether index is in the set.
func (s IndexSet) Has(index int) bool { return s>>uint(index)&1 != 0 }

// With is the set with index.
func (s IndexSet) With(index int) IndexSet { return s | 1<<uint(index) }

// Without is the set without index.
func (s IndexSet) Without(index int) IndexSet { return s &^ (1 << uint(index)) }

// Len is how many indexes are in the set.
func (s IndexSet) Len() int { return bits.OnesCount64(uint64(s)) }

func (s IndexSet) String() string {
	var b strings.Builder
	for i := range EnsembleMax {
		if s.Has(i) {
			if b.Len() > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%d", i)
		}
	}
	return "{" + b.String() + "}"
}

// outbox collects effects in two slices that take turns, so that those taken stay whole while the next are collected.
type outbox struct{ collecting, taken []Effect }

func (o *outbox) add(e Effect) { o.collecting = append(o.collecting, e) }

// last is the effect that was added last and not taken; nil if there is none.
func (o *outbox) last() *Effect {
	if n := len(o.collecting); n > 0 {
		return &o.collecting[n-1]
	}
	return nil
}

func (o *outbox) take() []Effect {
	o.collecting, o.taken = o.taken[:0], o.collecting
	return o.taken
}

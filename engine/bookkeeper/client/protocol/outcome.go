package protocol

import (
	"fmt"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
)

// AddOutcome is what became of an add, as far as its bookie or the connection told.
type AddOutcome uint8

// The outcomes of an add. All but AddStored leave open whether the entry lies on the bookie.
const (
	// AddStored: the entry is durable there.
	AddStored AddOutcome = iota + 1
	// AddFenced: somebody recovers the ledger, or did. The writer ends.
	AddFenced
	// AddUnauthorized: the ledger has another master key. The writer ends.
	AddUnauthorized
	// AddReadOnly: the bookie takes no adds and will not for long. Replaced at once, also with DelayEnsembleChange.
	AddReadOnly
	// AddOverloaded: too many requests. Counts as a failure, since only time could tell and this core has none; an owner
	// that wants to wait sends again before it answers.
	AddOverloaded
	// AddFailed: refused for other reasons, no answer in time, connection lost, bookie not reachable.
	AddFailed
)

func (o AddOutcome) String() string {
	names := [...]string{"none", "stored", "fenced", "unauthorized", "read-only", "overloaded", "failed"}
	if int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("AddOutcome(%d)", uint8(o))
}

// ReadOutcome is what a fencing read brought. It serves last-entry reads and reads of one entry.
type ReadOutcome uint8

// The outcomes of a fencing read. The first four say that the ledger is fenced on that bookie, durably.
const (
	// ReadFound: an entry whose digest is right.
	ReadFound ReadOutcome = iota + 1
	// ReadAbsent: no such entry or no such ledger. The bookie never acknowledged the entry, and never will to the writer.
	ReadAbsent
	// ReadUnknown: the bookie cannot prove that it never had the entry (unknown ledger state).
	ReadUnknown
	// ReadCorrupt: an entry came whose digest is wrong.
	ReadCorrupt
	// ReadUnauthorized: the ledger has another master key. Recovery ends.
	ReadUnauthorized
	// ReadFailed: any other error, and no answer in time.
	ReadFailed
)

func (o ReadOutcome) String() string {
	names := [...]string{"none", "found", "absent", "unknown", "corrupt", "unauthorized", "failed"}
	if int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("ReadOutcome(%d)", uint8(o))
}

// LACAnswer answers a last-entry read.
type LACAnswer struct {
	Outcome ReadOutcome
	LAC     ledger.EntryID // of ReadFound: from the header of the entry that came
}

// ReadAnswer answers a read of one entry.
type ReadAnswer struct {
	Outcome ReadOutcome
	Length  int64 // of ReadFound: from the entry's header
	Size    int64 // of ReadFound: payload bytes
}

// MetadataOutcome is what became of a read or a write of the ledger's metadata.
type MetadataOutcome uint8

// The outcomes of metadata calls.
const (
	// MetadataApplied: the write was done and gave Version.
	MetadataApplied MetadataOutcome = iota + 1
	// MetadataConflict: the write was refused, the version is another.
	MetadataConflict
	// MetadataUnknown: the write may have been done, or may still be done.
	MetadataUnknown
	// MetadataUnavailable: the write was surely not done; or the read brought nothing.
	MetadataUnavailable
	// MetadataMissing: there are no metadata.
	MetadataMissing
	// MetadataFound: the read brought Metadata and Version.
	MetadataFound
)

func (o MetadataOutcome) String() string {
	names := [...]string{"none", "applied", "conflict", "unknown", "unavailable", "missing", "found"}
	if int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("MetadataOutcome(%d)", uint8(o))
}

// MetadataAnswer answers WriteMetadata or ReadMetadata. The core keeps Metadata; it must not be changed afterwards.
type MetadataAnswer struct {
	Outcome  MetadataOutcome
	Metadata *ledger.Metadata
	Version  metadata.Version
}

// Failure is why a core ended or entries failed. The zero Failure is none.
type Failure uint8

// The failures. After those marked "closable" the writer may still close the ledger behind its last acknowledged entry.
const (
	// Fenced: somebody recovers the ledger or did; what was not acknowledged is theirs to decide.
	Fenced Failure = iota + 1
	// ClosedElsewhere: the ledger was closed by somebody else.
	ClosedElsewhere
	// Deleted: the ledger is gone.
	Deleted
	// Unauthorized: a bookie knows the ledger under another master key.
	Unauthorized
	// Diverged: the metadata show what no follower of this protocol writes, such as a closed ledger that ends before
	// entries that were acknowledged.
	Diverged
	// NotEnoughBookies: an entry cannot reach its ack quorum and no replacement is to be had. Closable.
	NotEnoughBookies
	// TooManyChanges: EnsembleChangesMax is reached. Closable.
	TooManyChanges
	// BookieFailed: a bookie failed, and OnBookieFailure says that the ledger ends then. Closable.
	BookieFailed
	// MetadataFailed: AttemptsMax calls of the metadata store did not settle a write. Whether it was done is unknown.
	// Closable.
	MetadataFailed
	// CloseAsked: the writer was closed while the entries were under way.
	CloseAsked
	// Uncovered: too few bookies answered the fencing LAC reads: an ack quorum may be unfenced. Recover again later.
	Uncovered
	// Undecided: an entry was neither found nor proved absent. Recover again later.
	Undecided
	// Damaged: every copy of an entry is damaged or missing although it may have been acknowledged.
	Damaged
)

func (f Failure) String() string {
	names := [...]string{
		"none", "fenced", "closed-elsewhere", "deleted", "unauthorized", "diverged", "not-enough-bookies", "too-many-changes",
		"bookie-failed", "metadata-failed", "close-asked", "uncovered", "undecided", "damaged",
	}
	if int(f) < len(names) {
		return names[f]
	}
	return fmt.Sprintf("Failure(%d)", uint8(f))
}

// Closable reports whether a writer that failed so may still close its ledger. After the others the end is, or was,
// somebody else's to decide.
func (f Failure) Closable() bool {
	switch f {
	case NotEnoughBookies, TooManyChanges, BookieFailed, MetadataFailed:
		return true
	}
	return false
}

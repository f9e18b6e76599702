package model

import (
	"fmt"
)

// ClusterKind says what a client asks of a replicated ledger.
type ClusterKind uint8

// The operations on replicated ledgers. Open without recovery is a LedgerConfirmed: both answer how far one may read.
const (
	LedgerCreate    ClusterKind = iota + 1
	LedgerAppend                // Digest, Length → Entry
	LedgerClose                 // by its writer → Entry, Length, final
	LedgerRecover               // open with recovery → Entry, Length, final
	LedgerConfirmed             // LAC read, open without recovery → Entry; if Closed also Length, and both are final
	LedgerRead                  // Entry to Last → every one of them
	LedgerBatchRead             // Entry, MaxCount, MaxBytes → a prefix
	LedgerDelete
	clusterKindsEnd
)

var clusterKindNames = [clusterKindsEnd]string{LedgerCreate: "create", LedgerAppend: "append", LedgerClose: "close",
	LedgerRecover: "recover-open", LedgerConfirmed: "confirmed-read", LedgerRead: "read", LedgerBatchRead: "batch-read",
	LedgerDelete: "delete"}

func (k ClusterKind) String() string {
	if k == 0 || k >= clusterKindsEnd {
		return fmt.Sprintf("ledger operation %d", uint8(k))
	}
	return clusterKindNames[k]
}

// NoLast is the last entry of a ledger that has none. NoBound is the bound of a read of which it is not told.
const (
	NoLast  EntryID = -1
	NoBound EntryID = -2
)

// Handle numbers the writers and readers that one client has opened, over all ledgers. Acknowledgements are in order
// per writer's handle; the confirmed entry never falls per reader's handle.
type Handle int32

// Node names a bookie as metadata does.
type Node string

// ClusterOp is one operation on a replicated ledger: what was asked, when, and how it ended. It is flat; the entries
// that a read answered live in the ClusterHistory.
type ClusterOp struct {
	Call, Return Stamp
	Ledger       LedgerID
	Entry        EntryID // append: acknowledged at; reads: first asked for; close, recover, confirmed: last entry, or NoLast
	Last         EntryID // LedgerRead: last asked for
	Bound        EntryID // reads: the highest entry that this handle was allowed to read when it returned, or NoLast or NoBound
	Digest       Digest  // append: unlike that of any other append to this ledger
	Length       int64   // append: bytes of the payload; close, recover, closed confirmed: of all payloads
	MaxBytes     int64   // LedgerBatchRead: 0 is no limit
	answer       span    // reads: into ClusterHistory.items
	MaxCount     int32   // LedgerBatchRead: 0 is no limit
	Client       ClientID
	Handle       Handle
	Kind         ClusterKind
	Outcome      Outcome
	Closed       bool // LedgerConfirmed: the ledger was found closed
	Final        bool // reads, recover: asked after everything was healed and restarted
}

const clusterReadOutcomes = 1<<Found | 1<<NoEntry | 1<<NoLedger | 1<<Error | 1<<Unknown

// clusterOutcomes has a bit for each outcome that an operation of a kind may have. Failed means definitely not done and
// never to be done; an append that was sent to anybody is Unknown or Fenced, since a recovery may still find it. Error
// means no answer. NoLedger means that metadata does not have the ledger.
var clusterOutcomes = [clusterKindsEnd]uint32{
	LedgerCreate:    1<<OK | 1<<Failed | 1<<Unknown,
	LedgerAppend:    1<<OK | 1<<Fenced | 1<<Failed | 1<<Unknown,
	LedgerClose:     1<<OK | 1<<Fenced | 1<<NoLedger | 1<<Failed | 1<<Error | 1<<Unknown,
	LedgerRecover:   1<<OK | 1<<NoLedger | 1<<Failed | 1<<Error | 1<<Unknown,
	LedgerConfirmed: 1<<OK | 1<<NoLedger | 1<<Error | 1<<Unknown,
	LedgerRead:      clusterReadOutcomes,
	LedgerBatchRead: clusterReadOutcomes,
	LedgerDelete:    1<<OK | 1<<NoLedger | 1<<Failed | 1<<Error | 1<<Unknown,
}

func (op *ClusterOp) reads() bool { return op.Kind == LedgerRead || op.Kind == LedgerBatchRead }

// ends says whether the operation answered the final end of its ledger.
func (op *ClusterOp) ends() bool {
	return op.Outcome == OK && (op.Kind == LedgerClose || op.Kind == LedgerRecover || op.Kind == LedgerConfirmed && op.Closed)
}

// LedgerState is the state of a ledger in its metadata.
type LedgerState uint8

// The states of a ledger; LedgerGone is the write that removes the metadata.
const (
	LedgerOpen LedgerState = iota + 1
	LedgerInRecovery
	LedgerClosed
	LedgerGone
	ledgerStatesEnd
)

var ledgerStateNames = [ledgerStatesEnd]string{LedgerOpen: "open", LedgerInRecovery: "in-recovery",
	LedgerClosed: "closed", LedgerGone: "gone"}

func (s LedgerState) String() string {
	if s == 0 || s >= ledgerStatesEnd {
		return fmt.Sprintf("ledger state %d", uint8(s))
	}
	return ledgerStateNames[s]
}

// MetadataVersion is a version as the metadata store counts it.
type MetadataVersion int64

// NoVersion is the Expected of a write that created the metadata, or that was not conditional.
const NoVersion MetadataVersion = -1

// QuorumShape is a ledger's ensemble size, write quorum and ack quorum.
type QuorumShape struct{ Ensemble, Write, Ack int32 }

// MetadataWrite is one write of a ledger's metadata that took effect.
type MetadataWrite struct {
	At       Stamp
	Ledger   LedgerID
	Version  MetadataVersion // after the write
	Expected MetadataVersion // the version it was conditional on
	Last     EntryID         // LedgerClosed: last entry, or NoLast
	Length   int64           // LedgerClosed
	Quorum   QuorumShape
	State    LedgerState
	answer   span // into ClusterHistory.fragments
}

// LedgerFragment is a range of entries, up to the next fragment, with the bookies that store it.
type LedgerFragment struct {
	First    EntryID
	Ensemble []Node
}

// fragment is a LedgerFragment as the history keeps it.
type fragment struct {
	first   EntryID
	members span // into ClusterHistory.nodes
}

// NoticeKind says what the engine told of itself.
type NoticeKind uint8

// What the engine tells. A notice is stamped when the engine decides, which is before its client hears of it.
const (
	NoticeAcked     NoticeKind = iota + 1 // a writer acknowledged Entry
	NoticeClosed                          // a client found or made its ledger closed, with Entry as its last
	NoticeRecovered                       // a recovery counted Entry as stored again
	noticeKindsEnd
)

var noticeKindNames = [noticeKindsEnd]string{NoticeAcked: "acked", NoticeClosed: "closed", NoticeRecovered: "recovered"}

func (k NoticeKind) String() string {
	if k == 0 || k >= noticeKindsEnd {
		return fmt.Sprintf("notice %d", uint8(k))
	}
	return noticeKindNames[k]
}

// Notice is what the engine told of itself. Writer tells apart the writers of one ledger; it need not be a Handle.
type Notice struct {
	At     Stamp
	Ledger LedgerID
	Entry  EntryID
	Writer Handle
	Client ClientID
	Kind   NoticeKind
	by     span // NoticeAcked, NoticeRecovered: the bookies that were counted, into ClusterHistory.nodes
}

// Holding is what one bookie was found to hold of an entry at the end of everything. Outcome is Found, NoEntry (the
// bookie denies it) or Error (it could not be asked, or answers that it does not know).
type Holding struct {
	Ledger  LedgerID
	Entry   EntryID
	Node    Node
	Digest  Digest // Found
	Outcome Outcome
}

// NodeDamage says that media of a bookie was damaged on purpose, and what that may have hit.
type NodeDamage struct {
	At     Stamp
	Node   Node
	Ledger LedgerID // or AnyLedger
	Entry  EntryID  // or AnyEntry
}

// ClusterHistory is what the clients of replicated ledgers saw, in any order, and what was seen of the system from
// outside. Metadata and Notices of each ledger are in the order of their stamps. All but Ops may be left empty: the
// rules about it then hold their peace.
type ClusterHistory struct {
	Ops      []ClusterOp
	Metadata []MetadataWrite
	Notices  []Notice
	Holdings []Holding
	Damages  []NodeDamage

	// StaleMetadata: an open may be served from old metadata, as the weakest store allows. A missing or a deleted ledger
	// is then judged by final operations only.
	StaleMetadata bool

	items     []Item // answers of reads
	fragments []fragment
	nodes     []Node // of fragments and notices
}

// Append adds an operation other than a read that found something.
func (h *ClusterHistory) Append(op ClusterOp) {
	op.answer = span{}
	h.Ops = append(h.Ops, op)
}

// AppendRead adds a read with its answer, which is copied.
func (h *ClusterHistory) AppendRead(op ClusterOp, items []Item) {
	op.answer = span{uint32(len(h.items)), uint32(len(items))}
	if len(items) == 0 {
		op.answer = span{}
	}
	h.items = append(h.items, items...)
	h.Ops = append(h.Ops, op)
}

// AppendMetadata adds a write of metadata; the fragments are copied.
func (h *ClusterHistory) AppendMetadata(w MetadataWrite, fragments []LedgerFragment) {
	w.answer = span{uint32(len(h.fragments)), uint32(len(fragments))}
	for _, f := range fragments {
		h.fragments = append(h.fragments, fragment{f.First, h.addNodes(f.Ensemble)})
	}
	h.Metadata = append(h.Metadata, w)
}

// AppendNotice adds what the engine told of itself. by lists the bookies whose answers it counted; nil is not told.
func (h *ClusterHistory) AppendNotice(n Notice, by []Node) {
	n.by = h.addNodes(by)
	h.Notices = append(h.Notices, n)
}

// AppendHolding adds what a bookie holds.
func (h *ClusterHistory) AppendHolding(held Holding) { h.Holdings = append(h.Holdings, held) }

// AppendDamage adds damage done on purpose.
func (h *ClusterHistory) AppendDamage(d NodeDamage) { h.Damages = append(h.Damages, d) }

func (h *ClusterHistory) addNodes(nodes []Node) span {
	s := span{uint32(len(h.nodes)), uint32(len(nodes))}
	h.nodes = append(h.nodes, nodes...)
	return s
}

// Items is the answer of the read at index i of Ops; nil for other kinds.
func (h *ClusterHistory) Items(i int) []Item {
	s := h.Ops[i].answer
	if s.count == 0 {
		return nil
	}
	return h.items[s.from:][:s.count:s.count]
}

// Fragments are those that the write at index i of Metadata stored.
func (h *ClusterHistory) Fragments(i int) []LedgerFragment {
	var out []LedgerFragment
	for _, f := range h.fragmentsOf(&h.Metadata[i]) {
		out = append(out, LedgerFragment{f.first, h.members(f.members)})
	}
	return out
}

// By lists the bookies that the notice at index i of Notices counted; nil if it does not tell.
func (h *ClusterHistory) By(i int) []Node { return h.members(h.Notices[i].by) }

func (h *ClusterHistory) fragmentsOf(w *MetadataWrite) []fragment {
	return h.fragments[w.answer.from:][:w.answer.count:w.answer.count]
}

func (h *ClusterHistory) members(s span) []Node {
	if s.count == 0 {
		return nil
	}
	return h.nodes[s.from:][:s.count:s.count]
}

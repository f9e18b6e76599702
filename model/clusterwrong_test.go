package model

import (
	"slices"
	"strings"
	"testing"
)

// story is a right history of ledger 7 on bookies a, b, c, d, with names for the operations that the table changes: a
// writer appends six entries and changes its ensemble after the fourth, readers follow, a recovery takes over while
// the seventh entry is under way, and everything is read at the end.
type story struct {
	*ClusterHistory
	append [7]int
	create, confirmed, confirmedLater, read, batch, recover, finalRecover,
	finalRead int
	created, changed, recovering, closed int // metadata
}

func (s *story) add(op ClusterOp, items ...Item) int {
	op.Ledger = 7
	if op.Outcome == 0 {
		op.Outcome = OK
	}
	s.AppendRead(op, items)
	return len(s.Ops) - 1
}

func (s *story) write(w MetadataWrite, fragments ...LedgerFragment) int {
	w.Ledger, w.Quorum = 7, QuorumShape{3, 3, 2}
	w.Version = MetadataVersion(len(s.Metadata))
	w.Expected = w.Version - 1
	s.AppendMetadata(w, fragments)
	return len(s.Metadata) - 1
}

func storyItems(first, last EntryID) []Item {
	var items []Item
	for e := first; e <= last; e++ {
		items = append(items, Item{e, Digest(0x10 + e), 100})
	}
	return items
}

func newStory() *story {
	s := &story{ClusterHistory: &ClusterHistory{}}
	before, after := LedgerFragment{0, []Node{"a", "b", "c"}}, LedgerFragment{4, []Node{"a", "b", "d"}}
	s.created = s.write(MetadataWrite{At: 1, Last: NoLast, State: LedgerOpen}, before)
	s.changed = s.write(MetadataWrite{At: 60, Last: NoLast, State: LedgerOpen}, before, after)
	s.recovering = s.write(MetadataWrite{At: 92, Last: NoLast, State: LedgerInRecovery}, before, after)
	s.closed = s.write(MetadataWrite{At: 98, Last: 5, Length: 600, State: LedgerClosed}, before, after)
	s.create = s.add(ClusterOp{Kind: LedgerCreate, Client: 1, Handle: 1, Call: 0, Return: 2})
	for e := range EntryID(6) {
		at := Stamp(10 + 10*e + e/4*10) // the last two after the change
		by := []Node{"a", "b"}
		if e >= 4 {
			by = []Node{"b", "d"}
		}
		s.AppendNotice(Notice{At: at + 6, Ledger: 7, Entry: e, Writer: 1, Client: 1, Kind: NoticeAcked}, by)
		s.append[e] = s.add(ClusterOp{Kind: LedgerAppend, Client: 1, Handle: 1, Call: at, Return: at + 7, Entry: e,
			Digest: Digest(0x10 + e), Length: 100})
	}
	s.append[6] = s.add(ClusterOp{Kind: LedgerAppend, Outcome: Fenced, Client: 1, Handle: 1, Call: 85, Return: 95, Digest: 0x16, Length: 100})
	s.confirmed = s.add(ClusterOp{Kind: LedgerConfirmed, Client: 2, Handle: 1, Call: 50, Return: 51, Entry: 3})
	s.confirmedLater = s.add(ClusterOp{Kind: LedgerConfirmed, Client: 2, Handle: 1, Call: 84, Return: 85, Entry: 4})
	s.read = s.add(ClusterOp{Kind: LedgerRead, Outcome: Found, Client: 2, Handle: 1, Call: 52, Return: 53, Entry: 1, Last: 3,
		Bound: 3}, storyItems(1, 3)...)
	s.batch = s.add(ClusterOp{Kind: LedgerBatchRead, Outcome: Found, Client: 2, Handle: 1, Call: 86, Return: 87, Entry: 2,
		Bound: 4, MaxCount: 3, MaxBytes: 350}, storyItems(2, 4)...)
	s.recover = s.add(ClusterOp{Kind: LedgerRecover, Client: 3, Handle: 1, Call: 90, Return: 100, Entry: 5, Length: 600})
	s.AppendNotice(Notice{At: 96, Ledger: 7, Entry: 5, Writer: 1, Client: 3, Kind: NoticeRecovered}, []Node{"a", "b"})
	s.AppendNotice(Notice{At: 99, Ledger: 7, Entry: 5, Writer: 1, Client: 3, Kind: NoticeClosed}, nil)
	s.finalRecover = s.add(ClusterOp{Kind: LedgerRecover, Client: 4, Handle: 1, Call: 200, Return: 201, Entry: 5, Length: 600, Final: true})
	s.finalRead = s.add(ClusterOp{Kind: LedgerRead, Outcome: Found, Client: 4, Handle: 1, Call: 202, Return: 203, Entry: 0, Last: 5,
		Bound: 5, Final: true}, storyItems(0, 5)...)
	for e := range EntryID(6) {
		third := Node("c")
		if e >= 4 {
			third = "d"
		}
		for _, n := range []Node{"a", "b", third} {
			s.AppendHolding(Holding{7, e, n, Digest(0x10 + e), Found})
		}
	}
	return s
}

// ensemble is the ensemble of a fragment of a write, to be changed in place.
func (s *story) ensemble(write, k int) []Node {
	return s.members(s.fragmentsOf(&s.Metadata[write])[k].members)
}

func (s *story) first(write, k int) *EntryID { return &s.fragmentsOf(&s.Metadata[write])[k].first }

// lose makes bookies deny an entry in the end.
func (s *story) lose(entry EntryID, outcome Outcome, nodes ...Node) {
	for i := range s.Holdings {
		if h := &s.Holdings[i]; h.Entry == entry && slices.Contains(nodes, h.Node) {
			h.Outcome, h.Digest = outcome, 0
		}
	}
}

// answer replaces what a read answered.
func (s *story) answer(read int, items ...Item) {
	s.Ops[read].answer = span{uint32(len(s.items)), uint32(len(items))}
	s.items = append(s.items, items...)
}

var wrongClusters = []struct {
	name   string
	change func(s *story)
	want   string
}{
	{"nothing is wrong", func(s *story) {}, ""},

	{"closed below an acknowledged entry", func(s *story) {
		s.Metadata[s.closed].Last, s.Metadata[s.closed].Length = 4, 500
		for _, i := range []int{s.recover, s.finalRecover} {
			s.Ops[i].Entry, s.Ops[i].Length = 4, 500
		}
		s.Notices[6].Entry, s.Notices[7].Entry = 4, 4
		s.Ops[s.finalRead].Last, s.Ops[s.finalRead].Bound = 4, 4
		s.answer(s.finalRead, storyItems(0, 4)...)
	}, "acked: acknowledged entry beyond the end"},
	{"a confirmed entry denied", func(s *story) {
		s.Ops[s.read].Outcome = NoEntry
		s.answer(s.read)
	}, "acked: confirmed entry denied"},

	{"two appends at one entry", func(s *story) { s.Ops[s.append[5]].Entry = 4 }, "ack-order: one entry id for two appends"},
	{"ids with a hole", func(s *story) { s.Ops[s.append[5]].Entry = 7 },
		"ack-order: entry id beyond all appends & acked: acknowledged entry beyond the end"},
	{"ids against the calls", func(s *story) {
		s.Ops[s.append[0]].Call, s.Ops[s.append[1]].Call = 14, 13
		s.Ops[s.append[1]].Return = 30
	}, "ack-order: ids against the order of calls"},
	{"acknowledged out of order", func(s *story) { s.Ops[s.append[4]].Return = 80 }, "ack-order: acknowledged out of order"},
	{"told out of order", func(s *story) { s.Notices[2].Entry, s.Notices[3].Entry = 3, 2 }, "ack-order: counted out of order"},

	{"another value at an entry", func(s *story) { s.answer(s.read, Item{1, 0x11, 100}, Item{2, 0x16, 100}, Item{3, 0x13, 100}) },
		"content: entry with another value"},
	{"another size of an entry", func(s *story) { s.answer(s.read, Item{1, 0x11, 100}, Item{2, 0x12, 99}, Item{3, 0x13, 100}) },
		"content: entry of another size"},
	{"an append at two entries", func(s *story) {
		s.Ops[s.append[4]].Outcome, s.Ops[s.append[4]].Entry = Unknown, 0
		s.answer(s.batch, Item{2, 0x12, 100}, Item{3, 0x13, 100}, Item{4, 0x15, 100})
		s.answer(s.finalRead, append(storyItems(0, 3), Item{4, 0x15, 100}, Item{5, 0x15, 100})...)
		s.lose(4, Error, "a", "b", "d")
	}, "content: append stored twice"},
	{"a copy of another value", func(s *story) { s.Holdings[0].Digest = 0x99 }, "content: copy with another value"},
	{"an id given twice", func(s *story) { s.add(ClusterOp{Kind: LedgerCreate, Client: 2, Call: 5, Return: 6}) },
		"content: ledger id given twice"},

	{"a value nobody appended", func(s *story) { s.answer(s.read, Item{1, 0x11, 100}, Item{2, 0x99, 100}, Item{3, 0x13, 100}) },
		"invented: value nobody appended"},
	{"a value of a failed append", func(s *story) {
		s.Ops[s.append[6]].Outcome = Failed
		s.answer(s.read, Item{1, 0x11, 100}, Item{2, 0x16, 100}, Item{3, 0x13, 100})
	}, "invented: value of a failed append"},
	{"an entry beyond all appends", func(s *story) {
		s.Ops[s.read].Entry, s.Ops[s.read].Last, s.Ops[s.read].Bound = 9, 9, NoBound
		s.answer(s.read, Item{9, 0x16, 100})
	}, "beyond: entry beyond the end & invented: entry beyond all appends"},

	{"two ends", func(s *story) { s.Metadata = nil; s.Ops[s.finalRecover].Entry = 6 }, "end: two ends"},
	{"an end that metadata changes", func(s *story) {
		fragments := s.Fragments(s.closed)
		s.write(MetadataWrite{At: 150, Last: 4, Length: 500, State: LedgerClosed}, fragments...)
	}, "end: closed metadata changed its end"},

	{"not the sum of the payloads", func(s *story) {
		s.Metadata[s.closed].Length, s.Ops[s.recover].Length, s.Ops[s.finalRecover].Length = 599, 599, 599
	}, "length: not the sum of the payloads"},
	{"two lengths", func(s *story) { s.Ops[s.recover].Length = 601 }, "length: two lengths of one end"},

	{"an entry beyond the end", func(s *story) {
		s.Ops[s.finalRead].Last, s.Ops[s.finalRead].Bound = 6, NoBound
		s.answer(s.finalRead, storyItems(0, 6)...)
	}, "beyond: entry beyond the end"},
	{"an entry above the LAC", func(s *story) {
		s.Ops[s.batch].Entry = 3
		s.answer(s.batch, storyItems(3, 5)...)
	}, "beyond: entry above the confirmed one"},

	{"an entry where nothing is confirmed", func(s *story) { s.Ops[s.read].Bound, s.Ops[s.read].Handle = NoLast, 9 },
		"beyond: entry above the confirmed one"},

	{"a LAC beyond the end", func(s *story) { s.Ops[s.confirmedLater].Return, s.Ops[s.confirmedLater].Entry = 95, 6 },
		"confirmed: confirmed entry beyond the end"},
	{"a bound beyond the end", func(s *story) { s.Ops[s.finalRead].Bound = 6 }, "confirmed: reader's bound beyond the end"},
	{"a LAC above the acknowledged", func(s *story) {
		s.Ops[s.confirmed].Return, s.Ops[s.confirmed].Call, s.Ops[s.confirmed].Entry = 46, 41, 3
	},
		""},
	{"a LAC before it is acknowledged", func(s *story) {
		s.Ops[s.confirmed].Return, s.Ops[s.confirmed].Call, s.Ops[s.confirmed].Entry = 45, 41, 3
	},
		"confirmed: above the last acknowledged entry"},
	{"a LAC before the append", func(s *story) { s.Notices = nil; s.Ops[s.confirmed].Entry, s.Ops[s.confirmed].Handle = 4, 9 },
		"confirmed: order"},
	{"a LAC that fell", func(s *story) { s.Ops[s.confirmedLater].Entry = 2; s.Ops[s.batch].Handle = 9 },
		"confirmed: confirmed length fell"},

	{"called and acknowledged after the close", func(s *story) {
		s.Ops[s.append[6]] = ClusterOp{Kind: LedgerAppend, Outcome: OK, Ledger: 7, Client: 1, Handle: 1, Call: 120, Return: 121,
			Entry: 6, Digest: 0x16}
	}, "fence: acknowledged after the close"},
	{"a fenced writer goes on", func(s *story) {
		s.Ops[s.append[6]].Call, s.Ops[s.append[6]].Return = 65, 66
		s.Ops[s.recover].Call = 64
	}, "fence: acknowledged by a fenced writer"},
	{"fenced by nobody", func(s *story) { s.Ops[s.append[6]].Return = 89 }, "fence: fenced though nobody recovers"},

	{"a read of nothing", func(s *story) { s.answer(s.read) }, "range: found nothing"},
	{"a read from elsewhere", func(s *story) { s.answer(s.batch, storyItems(3, 4)...) }, "range: starts elsewhere"},
	{"a hole", func(s *story) { s.answer(s.batch, Item{2, 0x12, 100}, Item{4, 0x14, 100}) }, "range: hole in the answer"},
	{"half a read", func(s *story) { s.answer(s.read, storyItems(1, 2)...) }, "range: not what was asked for"},
	{"half a batch", func(s *story) { s.answer(s.batch, storyItems(2, 3)...) }, ""},
	{"too many entries", func(s *story) { s.Ops[s.batch].MaxCount = 2 }, "range: more entries than asked for"},
	{"too many bytes", func(s *story) { s.Ops[s.batch].MaxBytes = 299 }, "range: more bytes than asked for"},

	{"a ledger denied", func(s *story) { s.add(ClusterOp{Kind: LedgerConfirmed, Outcome: NoLedger, Call: 150, Return: 151}) },
		"deleted: ledger denied that nobody deleted"},
	{"a ledger denied by old metadata", func(s *story) {
		s.StaleMetadata = true
		s.add(ClusterOp{Kind: LedgerConfirmed, Outcome: NoLedger, Call: 150, Return: 151})
	}, ""},
	{"a deleted ledger opened", func(s *story) { s.add(ClusterOp{Kind: LedgerDelete, Call: 150, Return: 151}) },
		"deleted: deleted ledger opened"},
	{"deleted by nobody", func(s *story) {
		s.AppendMetadata(MetadataWrite{At: 210, Ledger: 7, Version: 4, Expected: 3, Last: NoLast, State: LedgerGone}, nil)
	}, "deleted: ledger deleted though nobody asked"},

	{"a final read finds nothing", func(s *story) {
		s.Ops[s.finalRead].Outcome, s.Ops[s.finalRead].Bound = NoEntry, NoBound
		s.answer(s.finalRead)
	},
		"durability: promised entry denied"},
	{"a final read without answer", func(s *story) { s.Ops[s.finalRead].Outcome = Error; s.answer(s.finalRead) },
		"durability: promised entry unreadable"},
	{"a final read of damaged copies", func(s *story) {
		s.Ops[s.finalRead].Outcome = Error
		s.answer(s.finalRead)
		s.AppendDamage(NodeDamage{40, "a", 7, AnyEntry})
		s.AppendDamage(NodeDamage{40, "b", AnyLedger, AnyEntry})
	}, ""},
	{"a final read of one damaged copy", func(s *story) {
		s.Ops[s.finalRead].Outcome = Error
		s.answer(s.finalRead)
		s.AppendDamage(NodeDamage{40, "a", 7, AnyEntry})
	}, "durability: promised entry unreadable"},
	{"a final recovery fails", func(s *story) { f := &s.Ops[s.finalRecover]; f.Outcome, f.Entry, f.Length = Error, 0, 0 },
		"durability: ledger cannot be opened"},

	{"client and metadata differ", func(s *story) { s.Ops[s.recover].Entry, s.Ops[s.recover].Length = 6, 700 },
		"divergence: client and metadata disagree about the end"},
	{"told another end", func(s *story) { s.Notices[7].Entry = 4 }, "divergence: client and metadata disagree about the end"},
	{"closed before metadata", func(s *story) { s.Ops[s.recover].Return = 97 }, "divergence: closed, but not in metadata"},
	{"told to be closed before metadata", func(s *story) { s.Notices[7].At = 97 }, "divergence: closed, but not in metadata"},

	{"metadata that begins closed", func(s *story) { s.Metadata = s.Metadata[3:] }, "metadata: begins elsewhere"},
	{"metadata over an update", func(s *story) { s.Metadata[s.recovering].Expected = 0 },
		"metadata: not a compare-and-swap on the version before"},
	{"a version that does not grow", func(s *story) { s.Metadata[s.closed].Version = 2 }, "metadata: version did not grow"},
	{"another quorum", func(s *story) { s.Metadata[s.changed].Quorum.Ack = 3; s.Metadata = s.Metadata[:2]; s.forgetEnd() },
		"metadata: quorum changed"},
	{"open again", func(s *story) {
		s.Metadata[s.closed].State, s.Metadata[s.closed].Last, s.Metadata[s.closed].Length = LedgerOpen, NoLast, 0
		s.forgetEnd()
	}, "metadata: state went back"},
	{"metadata after the delete", func(s *story) {
		s.add(ClusterOp{Kind: LedgerDelete, Outcome: Unknown, Call: 205, Return: Never})
		s.AppendMetadata(MetadataWrite{At: 210, Ledger: 7, Version: 4, Expected: 3, Last: NoLast, State: LedgerGone}, nil)
		s.write(MetadataWrite{At: 220, Last: NoLast, State: LedgerOpen}, LedgerFragment{0, []Node{"a", "b", "c"}})
	}, "metadata: written after it was deleted"},

	{"no fragment at 0", func(s *story) {
		*s.first(s.created, 0), s.Metadata = 1, s.Metadata[:1]
		s.forgetEnd()
		s.Notices = nil
	},
		"ensemble: no fragment at 0"},
	{"an ensemble too small", func(s *story) {
		s.fragments[s.Metadata[s.closed].answer.from+1].members.count = 2
		s.lose(5, Error, "a", "b", "d")
	},
		"ensemble: ensemble of another size"},
	{"a bookie twice", func(s *story) { s.ensemble(s.closed, 1)[2] = "a" }, "ensemble: bookie twice in one ensemble"},
	{"a fragment beyond the end", func(s *story) { *s.first(s.changed, 1), *s.first(s.recovering, 1), *s.first(s.closed, 1) = 7, 7, 7 },
		"ensemble: fragment begins above the entry after the LAC & ensemble: fragment beyond the end & " +
			"quorum: counted a bookie that metadata does not name"},
	{"a fragment below the others (bookkeeper#2615)", func(s *story) { *s.first(s.closed, 1) = 2 }, "ensemble: earlier fragments changed"},
	{"fragments that do not ascend", func(s *story) { *s.first(s.closed, 1) = 0 },
		"ensemble: earlier fragments changed & ensemble: fragments do not ascend"},
	{"a recovery with other fragments", func(s *story) { s.ensemble(s.recovering, 1)[2] = "c"; s.ensemble(s.closed, 1)[2] = "c" },
		"ensemble: recovery began with other fragments"},
	{"fragments of a closed ledger", func(s *story) {
		s.write(MetadataWrite{At: 150, Last: 5, Length: 600, State: LedgerClosed}, LedgerFragment{0, []Node{"a", "b", "c"}})
	}, "ensemble: fragments of a closed ledger changed"},
	{"repair of a closed ledger", func(s *story) {
		s.write(MetadataWrite{At: 150, Last: 5, Length: 600, State: LedgerClosed}, LedgerFragment{0, []Node{"a", "b", "e"}},
			LedgerFragment{4, []Node{"a", "b", "d"}})
	}, ""},
	{"a fragment that takes acknowledged entries (bookkeeper#4651)", func(s *story) {
		for _, w := range []int{s.changed, s.recovering, s.closed} {
			*s.first(w, 1) = 3
		}
	}, "ensemble: fragment takes acknowledged entries"},
	{"a fragment that leaves entries behind", func(s *story) {
		for _, w := range []int{s.changed, s.recovering, s.closed} {
			*s.first(w, 1) = 5
		}
		s.nodes[s.Notices[4].by.from+1] = "a"
	}, "ensemble: fragment begins above the entry after the LAC"},

	{"one answer is not two", func(s *story) { s.Notices[2].by.count = 1 }, "quorum: counted without an ack quorum"},
	{"one answer counted twice", func(s *story) { s.nodes[s.Notices[2].by.from+1] = "a" }, "quorum: counted without an ack quorum"},
	{"a bookie of the next ensemble (bookkeeper#1591)", func(s *story) { s.nodes[s.Notices[3].by.from+1] = "d" },
		"quorum: counted a bookie that metadata does not name"},
	{"a bookie that was replaced (bookkeeper#3005)", func(s *story) { s.nodes[s.Notices[4].by.from+1] = "c" },
		"quorum: counted a bookie that metadata does not name"},
	{"a single copy", func(s *story) { s.lose(2, NoEntry, "a", "c") }, "quorum: committed entry short of an ack quorum"},
	{"a single copy beside a damaged one", func(s *story) {
		s.lose(2, NoEntry, "a", "c")
		s.AppendDamage(NodeDamage{40, "a", AnyLedger, AnyEntry})
	}, ""},
	{"a single copy beside one that does not know", func(s *story) { s.lose(2, NoEntry, "a"); s.lose(2, Error, "c") }, ""},

	{"appends of two writers against time", func(s *story) {
		s.Notices = nil
		s.Ops[s.append[1]].Handle, s.Ops[s.append[1]].Call, s.Ops[s.append[1]].Return = 2, 5, 6
	}, "log: order"},
}

// forgetEnd takes out all who know of the end.
func (s *story) forgetEnd() {
	for _, i := range []int{s.recover, s.finalRecover} {
		s.Ops[i].Outcome, s.Ops[i].Entry, s.Ops[i].Length, s.Ops[i].Final = Error, 0, 0, false
	}
	s.Notices = s.Notices[:7]
}

// TestEveryWrongClusterIsAccusedOfThatWrongAlone: each history is wrong in one way, and accused of it by the checker
// whose rule it is.
func TestEveryWrongClusterIsAccusedOfThatWrongAlone(t *testing.T) {
	met := map[string]bool{}
	for _, c := range wrongClusters {
		s := newStory()
		c.change(s)
		var got []string
		for _, v := range CheckCluster(s.ClusterHistory) {
			got = append(got, v.Signature)
			met[v.Checker] = true
			if v.Explanation == "" || v.Checker == CheckerHistory {
				t.Errorf("%s: %+v", c.name, v)
			}
		}
		if joined := strings.Join(got, " & "); joined != c.want {
			t.Errorf("%s: verdict %q, want %q", c.name, joined, c.want)
			for _, v := range CheckCluster(s.ClusterHistory) {
				t.Log(v.Explanation)
			}
		}
	}
	for _, checker := range []string{CheckerAcked, CheckerAckOrder, CheckerContent, CheckerInvented, CheckerEnd, CheckerLength,
		CheckerBeyond, CheckerConfirmed, CheckerFence, CheckerRange, CheckerDeleted, CheckerDurability, CheckerDivergence,
		CheckerMetadata, CheckerEnsemble, CheckerQuorum, CheckerLog} {
		if !met[checker] {
			t.Errorf("no history is accused by %s", checker)
		}
	}
}

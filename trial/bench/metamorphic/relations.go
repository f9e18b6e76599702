package metamorphic

import (
	"fmt"
	"strings"
	"time"

	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/sim"
	"lakebed/trial/bench/sameness"
)

// Name is what a relation is called.
type Name string

// Where says in which worlds a relation can be tried.
type Where uint8

// The worlds of a relation.
const (
	Anywhere Where = iota
	InSimulation
	OnRealGoroutines
)

// Relation is a change that must not show in what a workload leaves behind.
type Relation struct {
	Name   Name
	Change string // what is different
	Why    string // the result must be equal
	Where  Where
	Shape  bool // the change shows in the shape of ledgers, which is then not compared

	script     func(*sameness.Script)
	settings   func(*sameness.Settings)
	processors int // runtime.GOMAXPROCS; zero: as it is
}

// Unchanged is the name under which the run without a change is reported, which is held against the script.
const Unchanged Name = "unchanged"

// All returns the relations in the order in which they are tried.
func All() []Relation {
	all := shapes()
	all = append(all, clients()...)
	all = append(all, bookies()...)
	return append(all, worlds()...)
}

// Find returns the relations of these names; all of them, if there is none.
func Find(names []string) ([]Relation, error) {
	all := All()
	if len(names) == 0 {
		return all, nil
	}
	var found []Relation
	for _, name := range names {
		known := len(found)
		for _, r := range all {
			if string(r.Name) == name {
				found = append(found, r)
			}
		}
		if len(found) == known {
			return nil, fmt.Errorf("no relation is called %q; there are: %s", name, namesOf(all))
		}
	}
	return found, nil
}

func namesOf(all []Relation) string {
	var names []string
	for _, r := range all {
		names = append(names, string(r.Name))
	}
	return strings.Join(names, ", ")
}

// shapes change what ledgers are like.
func shapes() []Relation {
	return []Relation{
		{
			Name: "striped", Change: "ensembles have one bookie more than before, so that entries go round", Shape: true,
			Why:    "where an entry lies is the metadata's business, and no part of it",
			script: func(s *sameness.Script) { s.Bookies++; quorums(s, func(q *ledger.Quorum) { q.Ensemble++ }) },
		},
		{
			Name: "unstriped", Change: "every entry goes to the whole ensemble", Shape: true,
			Why:    "more copies of an entry say the same as fewer",
			script: func(s *sameness.Script) { quorums(s, func(q *ledger.Quorum) { q.Write = q.Ensemble }) },
		},
		{
			Name: "all-acknowledge", Change: "an entry is acknowledged when its whole write set has it", Shape: true,
			Why:    "a script waits for its acknowledgements, so it is the same entries that get them",
			script: func(s *sameness.Script) { quorums(s, func(q *ledger.Quorum) { q.Ack = q.Write }) },
		},
		{
			Name: "mac", Change: "entries are sealed with a keyed digest instead of a checksum", Shape: true,
			Why: "a digest says whether bytes are whole, and not what they are",
			script: func(s *sameness.Script) {
				for i := range s.Steps {
					s.Steps[i].Digest = ledger.MAC
				}
			},
		},
	}
}

func quorums(s *sameness.Script, change func(*ledger.Quorum)) {
	for i := range s.Steps {
		if s.Steps[i].Verb == sameness.Create {
			change(&s.Steps[i].Quorum)
		}
	}
}

// clients change how entries are sent and asked for.
func clients() []Relation {
	return []Relation{
		{
			Name: "one-at-a-time", Change: "writers have one entry under way, recoveries read one at a time",
			Why: "a window bounds what is open, and not what comes of it",
			settings: func(s *sameness.Settings) {
				s.Client.WindowEntries, s.Client.RecoveryReads = 1, 1
			},
		},
		{
			Name: "small-batches", Change: "bookies take adds one by one, and reads ask for three entries at a time",
			Why: "a batch is a way of sending, and no unit of content",
			settings: func(s *sameness.Settings) {
				s.Bookie.Server.BatchEntriesMax, s.Bookie.Server.BatchReadMax, s.ReadEntries = 1, 2, 3
			},
		},
		{
			Name: "single-reads", Change: "readers ask for every entry by itself, one after the other",
			Why: "a batch read is a prefix of single reads",
			settings: func(s *sameness.Settings) {
				s.Client.BatchReads, s.Client.ReadsInFlight = false, 1
			},
		},
		{
			Name: "impatient-reads", Change: "a replica that is silent for ten milliseconds is not waited for alone",
			Why: "all replicas of an entry hold the same bytes",
			settings: func(s *sameness.Settings) {
				s.Client.SpeculativeReadTimeout = 10 * time.Millisecond
			},
		},
	}
}

// Sizes of bookies that are kept small. Drawn entries are shorter than 500 bytes, with all that goes around them.
const (
	smallEntry = 1 << 10
	smallBatch = 4 << 10
)

// bookies change how bookies keep what they have.
func bookies() []Relation {
	return []Relation{
		{
			Name: "flush-early", Change: "the write cache takes 16 KiB, and a checkpoint follows every 20 ms",
			Why: "an entry reads alike from memory and from a log", settings: flushEarly,
		},
		{
			Name: "flush-late", Change: "no checkpoint in an hour, and a write cache that takes everything",
			Why: "an entry reads alike from memory and from a log",
			settings: func(s *sameness.Settings) {
				s.Bookie.Store.CheckpointInterval, s.Bookie.Store.WriteCacheBytesMax = time.Hour, 64<<20
			},
		},
		{
			Name: "no-read-cache", Change: "flushes come early, nothing is read ahead, and one block of indexes is kept",
			Why: "a cache may be forgotten at any time",
			settings: func(s *sameness.Settings) {
				flushEarly(s)
				l := &s.Bookie.Store.EntryLog
				l.ReadCacheBytesMax, l.ReadAheadEntries, l.ReadAheadBytesMax, l.IndexCacheBytesMax = 0, 0, 0, 4<<10
			},
		},
		{
			Name: "large-read-cache", Change: "flushes come early, and all that is read is read ahead and kept",
			Why: "a cache may keep what is true for ever",
			settings: func(s *sameness.Settings) {
				flushEarly(s)
				l := &s.Bookie.Store.EntryLog
				l.ReadCacheBytesMax, l.ReadAheadEntries, l.ReadAheadBytesMax, l.IndexCacheBytesMax = 64<<20, 1000, 1<<20, 32<<20
			},
		},
		{
			Name: "small-logs", Change: "an entry log is closed at 24 KiB or 40 entries, and flushes come early",
			Why: "which log an entry lies in is the index's business",
			settings: func(s *sameness.Settings) {
				flushEarly(s)
				l := &s.Bookie.Store.EntryLog
				l.LogBytesMax, l.ItemsMax, l.GroupBytes = 24<<10, 40, 1<<10
			},
		},
		{
			Name: "small-journal", Change: "journal files of 16 KiB, groups of 1 KiB, and no spare file",
			Why: "replay goes over files as over one",
			settings: func(s *sameness.Settings) {
				smallBatches(s)
				j := &s.Bookie.Store.Journal
				j.FileBytes, j.GroupBytesMax, j.SparesMax = 16<<10, 1<<10, 0
			},
		},
		{
			Name: "large-journal", Change: "one journal file takes everything, and groups as much as they like",
			Why: "a group is a way of writing, and no unit of content",
			settings: func(s *sameness.Settings) {
				s.Bookie.Store.Journal.FileBytes, s.Bookie.Store.Journal.GroupBytesMax = 16<<20, 4<<20
			},
		},
		{
			Name: "sync-each", Change: "every batch has its own sync",
			Why:      "more syncs than are needed are only slow",
			settings: func(s *sameness.Settings) { s.Bookie.Store.Journal.Sync = journal.SyncAlways },
		},
	}
}

func smallBatches(s *sameness.Settings) {
	b := &s.Bookie.Store
	b.EntryBytesMax, b.BatchBytesMax = smallEntry, smallBatch
	s.Bookie.Server.BatchBytesMax = smallBatch / 2
}

func flushEarly(s *sameness.Settings) {
	smallBatches(s)
	b := &s.Bookie.Store
	b.WriteCacheBytesMax, b.ChunkBytes, b.CheckpointInterval = 16<<10, 2<<10, 20*time.Millisecond
}

// worlds change what a cluster runs in.
func worlds() []Relation {
	return []Relation{
		{
			Name: "in-order", Change: "tasks run in the order in which they became ready, and no lock yields", Where: InSimulation,
			Why:      "no outcome of a script depends on who runs first",
			settings: func(s *sameness.Settings) { s.World = sim.Config{Policy: sim.FIFO} },
		},
		{
			Name: "by-priority", Change: "tasks run by priorities, which change a few times, and every tenth lock yields", Where: InSimulation,
			Why: "no outcome of a script depends on who runs first",
			settings: func(s *sameness.Settings) {
				s.World = sim.Config{Policy: sim.PCT, PCTDepth: 4, PCTSteps: 200_000, LockYieldPermille: 100}
			},
		},
		{
			Name: "busy", Change: "one woken task in fifty waits for up to 5 ms, as on a busy machine", Where: InSimulation,
			Why: "no outcome of a script depends on how long something takes",
			settings: func(s *sameness.Settings) {
				s.World.DelayPermille, s.World.DelayMax = 20, 5*time.Millisecond
			},
		},
		{
			Name: "one-processor", Change: "GOMAXPROCS is 1", Where: OnRealGoroutines, processors: 1,
			Why: "no outcome of a script depends on who runs first",
		},
		{
			Name: "two-processors", Change: "GOMAXPROCS is 2", Where: OnRealGoroutines, processors: 2,
			Why: "no outcome of a script depends on who runs first",
		},
	}
}

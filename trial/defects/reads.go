package defects

import "lakebed/model"

const (
	readFile  = bookieFolder + "read.go"
	rangeFile = bookieFolder + "range.go"
)

// readDefects are mistakes in finding what is there.
func readDefects() []Defect {
	return append([]Defect{
		{
			ID: "flushing-not-read", Title: "entries that are being flushed are not looked for in memory",
			Origin:    ours + "an entry is found from its acknowledgement on",
			Mechanism: "an entry is in the generation that is being flushed, neither in the active one nor yet in a log",
			UnitTest:  "nothing: needs a read during a flush",
			Edits: []Edit{{
				File: readFile, Function: "Store.cached",
				Original: "[...]*writecache.Generation{s.active, s.flushing}", Result: "[2]*writecache.Generation",
				Replacement: "return [2]*writecache.Generation{s.active, nil}",
			}},
			Scenario: "bookie", Checkers: []string{model.CheckerBookie, model.CheckerVanished},
		},
		{
			ID: "last-entry-from-cache-only", Title: "the last entry is looked for in the write cache only",
			Origin:    "bookkeeper#2612: the last entry was answered too low with confidence, and recovery cut the ledger",
			Mechanism: "after a flush or a restart the last entry is answered too low, and recovery cuts the ledger there",
			UnitTest:  "a test that asks behind a flush sees it",
			Edits: []Edit{{
				File: readFile, Function: "Store.greatest",
				Original: "max(s.active.Last(id), s.logs.Last(id))", Result: "ledger.EntryID", Replacement: "return s.active.Last(id)",
			}},
			Scenario: "bookie", Checkers: []string{model.CheckerLastEntry, model.CheckerBookie},
		},
		{
			ID: "last-of-run-missed", Title: "the last entry of a run is not found",
			Origin:    ours + "an acknowledged entry is found by every later read",
			Mechanism: "the border of a run is compared in the wrong way, so that its last entry is absent",
			UnitTest:  "a test that reads every entry behind a flush sees it",
			Edits: []Edit{{
				File: logFolder + "find.go", Function: "Logs.candidates",
				Original: "entry <= r.last", Result: "bool", Replacement: "return entry < r.last",
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "index-guess-trusted", Title: "a closed log is searched in the first block that was guessed, only",
			Origin:    ours + "an acknowledged entry is found by every later read",
			Mechanism: "ledgers of unequal size bend the guess, the entry lies in the block before, and is answered as absent",
			UnitTest:  "a test with an index of several blocks sees it, if its ledgers are unequal",
			Edits: []Edit{{
				File: logFolder + "find.go", Function: "Logs.searchClosed",
				Original: "entry < part.first && block > low/itemsPerBlock", Result: "bool", Replacement: "return false",
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "read-error-as-absent", Title: "an entry that cannot be read is answered as not there",
			Origin:    "bookkeeper#2908: a missing or corrupt entry log was reported as no such entry",
			Mechanism: "the disk fails a read, recovery takes the answer for a proof of absence, and cuts the ledger",
			UnitTest:  "a test with a disk that fails a read sees it",
			Edits: []Edit{{
				File: readFile, Function: "Store.notInLogs",
				Original:    `return fmt.Errorf("entry %d of ledger %d: %w", entry, id, err)`,
				Replacement: `return fmt.Errorf("entry %d of ledger %d: %w", entry, id, ErrNoEntry)`,
			}},
			Scenario: "bookie", Checkers: []string{model.CheckerBookie, model.CheckerVanished},
		},
	}, rangeDefects()...)
}

// rangeDefects are mistakes of reads of many entries.
func rangeDefects() []Defect {
	return []Defect{
		{
			ID: "range-over-hole", Title: "a range read goes on behind an entry that is not there",
			Origin:    ours + "a range is a hole-free prefix",
			Mechanism: "an entry in the middle is on other bookies, and what comes behind it takes its place in the answer",
			UnitTest:  "a test with a hole sees it",
			Edits: []Edit{{
				File: rangeFile, Function: "Store.ReadInto",
				Original: "if err != nil {\ns.markHole(id, r.next)\nbreak\n}",
				Replacement: `if err != nil {
						r.next++
						if err = s.extend(r); err != nil {
							break
						}
					}`,
			}},
			Scenario: "bookie", Checkers: []string{model.CheckerRange},
		},
		{
			ID: "range-over-limit", Title: "a range read takes one entry more than its limit of bytes",
			Origin:    ours + "a range keeps its limits",
			Mechanism: "the limit is compared before the entry is counted in",
			UnitTest:  "a test at the border sees it",
			Edits: []Edit{{
				File: rangeFile, Function: "Range.add",
				Original: "bytes > r.limits.Bytes", Result: "bool", Replacement: "return r.bytes > r.limits.Bytes",
			}},
			Scenario: "bookie", Checkers: []string{model.CheckerRange},
		},
		{
			ID: "range-past-cache", Title: "a range goes on in a log where the write cache has newer versions",
			Origin:    ours + "a read answers with the newest version",
			Mechanism: "a newer version of an entry is in the cache, and the range goes on in the log behind it",
			UnitTest:  "nothing, unless an entry in the middle of a range was replaced",
			Edits: []Edit{{
				File: rangeFile, Function: "Store.extend",
				Original: "min(last, until-1)", Result: "ledger.EntryID", Replacement: "return last",
			}},
			Scenario: "bookie", Checkers: []string{model.CheckerBookie},
		},
		{
			ID: "range-past-newer-run", Title: "a range goes on in a run where a newer one has begun",
			Origin:    ours + "a read answers with the newest version",
			Mechanism: "a newer run holds some of the entries, and the range goes on in the older one",
			UnitTest:  "nothing, unless runs overlap in the middle of a range",
			Edits: []Edit{{
				File: logFolder + "many.go", Function: "Logs.ReadMany",
				Original: "l.horizon(w, r)", Result: "ledger.EntryID", Replacement: "return w.Last",
			}},
			Scenario: "bookie", Checkers: []string{model.CheckerBookie},
		},
		{
			ID: "range-leaks", Title: "a range that is given back keeps the cache in which it was found",
			Origin:    "bookkeeper#3737: buffers leaked until memory was exhausted",
			Mechanism: "the generation in which the range was found stays pinned after the range is given back",
			UnitTest:  "a test that counts buffers sees it; one that looks at answers does not",
			Edits: []Edit{{
				File: rangeFile, Function: "Range.Release", Original: "g.Unpin()",
			}},
			Scenario: "bookie", Checkers: []string{checkerMemory},
		},
	}
}

package defects

import "lakebed/model"

// readerDefects are mistakes of clients that read.
func readerDefects() []Defect {
	return []Defect{
		{
			ID: "batch-past-lac", Title: "a batch read is not cut at the LAC",
			Origin:    "BookKeeper, read in LedgerHandle: a batch read may return the remains of a tail that recovery cut off",
			Mechanism: "a batch read shows entries that no quorum has, and a recovery cuts them off afterwards",
			UnitTest:  "a test that asks for more than is confirmed sees it",
			Edits: []Edit{{
				File: clientFolder + "reader.go", Function: "Reader.clamp",
				Original: "r.LastAddConfirmed() + 1", Result: "ledger.EntryID", Replacement: "return first + ledger.EntryID(count)",
			}},
			Scenario: inCluster, Checkers: []string{model.CheckerBeyond},
		},
		{
			ID: "batch-past-hole", Title: "a bookie's batch goes on behind a hole, and the client does not look at the ids",
			Origin:    ours + "a batch read is a verified prefix without a hole",
			Mechanism: "a bookie leaves out the entry that it lacks, and the client takes the next one for it",
			UnitTest:  "a test with a hole on a bookie sees it",
			Edits: []Edit{
				{
					File: rangeFile, Function: "Store.ReadInto",
					Original: "if err != nil {\ns.markHole(id, r.next)\nbreak\n}",
					Replacement: `if err != nil {
							r.next++
							if err = s.extend(r); err != nil {
								break
							}
						}`,
				},
				{
					File: clientFolder + "batch.go", Function: "fetcher.prefix",
					Original: "verified(f.digester, stored, f.reader.id, one.first+ledger.EntryID(i))", Result: "(Entry, error)",
					Replacement: "return verified(f.digester, stored, f.reader.id, ledger.NoEntry)",
				},
			},
			Scenario: inCluster, Checkers: []string{model.CheckerRange},
		},
		{
			ID: "tail-takes-last-entry", Title: "a tailing reader takes the last entry of a bookie for confirmed",
			Origin:    ours + "a reader's LAC never passes what was acknowledged",
			Mechanism: "an entry that reached one bookie and no quorum is told as confirmed",
			UnitTest:  "a test with an entry under way sees it",
			Edits: []Edit{{
				File: clientFolder + "lac.go", Function: "Reader.lastAnswer",
				Original: "entry.LastAddConfirmed", Result: "ledger.EntryID", Replacement: "return entry.ID",
			}},
			Scenario: inCluster, Checkers: []string{model.CheckerConfirmed},
		},
		{
			ID: "first-negative-ends-read", Title: "a read believes the first bookie that does not have the entry",
			Origin:    ours + "\"no such entry\" is answered only if every replica says so",
			Mechanism: "a bookie that missed the add is asked first, and its \"absent\" is believed",
			UnitTest:  "a test with an entry that one replica lacks sees it",
			Edits: []Edit{{
				File: clientFolder + "replicas.go", Function: "replicas.next",
				Original: "r.asked == r.set.Len()", Result: "bool",
				Replacement: "return r.asked == r.set.Len() || r.problem != nil && readClass(r.problem) == ErrNoSuchEntry",
			}},
			Scenario: inCluster, Checkers: []string{model.CheckerAcked},
		},
		{
			ID: "digest-not-verified", Title: "neither bookie nor client looks whether an entry is what was written",
			Origin:    "bookkeeper#4140: entries and digests did not belong together",
			Mechanism: "rot on a bookie's disk passes both checks and is given to the application",
			UnitTest:  "a test that flips a byte sees it",
			Edits: []Edit{
				{
					File: logFolder + "find.go", Function: "recordAt",
					Original: "!h.Matches(body)", Result: "bool", Replacement: "return false",
				},
				{
					File: "engine/bookkeeper/ledger/digest.go", Function: "Digester.Verify",
					Original: "string(d.sum(stored[:HeaderBytes], payload)) != string(stored[HeaderBytes:d.Overhead()])", Result: "bool",
					Replacement: "return false",
				},
			},
			Scenario: inCluster, Checkers: []string{model.CheckerInvented},
		},
	}
}

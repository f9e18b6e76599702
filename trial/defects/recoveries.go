package defects

import "lakebed/model"

// recoveryDefects are mistakes in finding the end of a ledger whose writer may live.
func recoveryDefects() []Defect {
	return append([]Defect{
		{
			ID: "recovery-reads-plain", Title: "recovery reads do not fence",
			Origin: "bookkeeper#2614: a late add made an entry acknowledged that recovery had found absent",
			Mechanism: "recovery finds an entry absent on two bookies, and the writer's late add reaches them and is " +
				"acknowledged",
			UnitTest: "nothing: needs an add that arrives behind the read",
			Edits: []Edit{{
				File: protocolFolder + "tail.go", Function: "Recovery.readAhead",
				Original: "r.options.ReadsDoNotFence", Result: "bool", Replacement: "return true",
			}},
			Scenario: inFences, Checkers: []string{model.CheckerAcked},
		},
		{
			ID: "recovery-below-fragment", Title: "recovery starts below the last fragment",
			Origin: "bookkeeper#2615: the LAC that the last ensemble told was below its own first entry",
			Mechanism: "no bookie of the last fragment knows a LAC, recovery begins at entry 0 and wants a fragment below " +
				"existing ones",
			UnitTest: "a test with a last fragment that is empty sees it",
			Edits: []Edit{{
				File: protocolFolder + "recovery.go", Function: "Recovery.beginTail",
				Original: "r.options.NoLowerBound", Result: "bool", Replacement: "return true",
			}},
			Scenario: inRivals, Checkers: []string{checkerWorld},
		},
		{
			ID: "one-negative-is-enough", Title: "recovery takes an entry for absent when one bookie does not have it",
			Origin:    ours + "an entry is absent only after Qw-Qa+1 explicit negatives",
			Mechanism: "one bookie was replaced, or missed the entry, while Qa others have it; recovery cuts the ledger",
			UnitTest:  "a test of coverage sees it",
			Edits: []Edit{{
				File: protocolFolder + "coverage.go", Function: "tailRead.judge",
				Original: "t.absent.Len() >= q.Write-q.Ack+1", Result: "bool", Replacement: "return t.absent.Len() >= 1",
			}},
			Scenario: inRivals, Checkers: []string{model.CheckerAcked},
		},
		{
			ID: "last-entry-as-lac", Title: "recovery takes the last entry of a bookie for confirmed",
			Origin: ours + "only the LAC in an entry's header says what is confirmed",
			Mechanism: "a bookie's last entry was never acknowledged and its predecessors are not everywhere; recovery " +
				"passes over them",
			UnitTest: "a test with an entry on one bookie only sees it",
			Edits: []Edit{{
				File: clientFolder + "tailentry.go", Function: "recovery.lastAnswered",
				Original: "entry.LastAddConfirmed", Result: "ledger.EntryID",
				Replacement: `if outcome == protocol.ReadFound {
						return entry.ID
					}
					return entry.LastAddConfirmed`,
			}},
			Scenario: inRivals, Checkers: []string{model.CheckerDurability},
		},
	}, closingDefects()...)
}

// closingDefects are mistakes in writing the tail again and closing.
func closingDefects() []Defect {
	return []Defect{
		{
			ID: "recovery-without-writing", Title: "recovery closes behind entries that it found, without writing them again",
			Origin:    ours + "what recovery found it writes again to the full write set before it closes",
			Mechanism: "the ledger is closed behind an entry that one bookie has, and that bookie is lost",
			UnitTest:  "a test that counts copies behind a recovery sees it",
			Edits: []Edit{{
				File: protocolFolder + "tail.go", Function: "Recovery.advance",
				Original: "r.writer.append(t.reads[0].length)", Result: "ledger.EntryID",
				Replacement: `r.writer.window.first++
					r.writer.lac, r.writer.lacLength, r.writer.length = t.first, t.reads[0].length, t.reads[0].length
					return t.first`,
			}},
			Scenario: inRivals, Checkers: []string{model.CheckerDurability},
		},
		{
			ID: "length-not-measured", Title: "recovery of a ledger without a tail does not read the last entry for the length",
			Origin:    ours + "the length of a closed ledger is the sum of its payloads",
			Mechanism: "a recovery without a tail does not know the bytes before the LAC and stores zero",
			UnitTest:  "a test of the length behind a recovery sees it",
			Edits: []Edit{{
				File: protocolFolder + "tail.go", Function: "Recovery.closeIfWritten",
				Original: "r.writer.LastAddConfirmed() == r.lac", Result: "bool", Replacement: "return false",
			}},
			Scenario: inCluster, Checkers: []string{model.CheckerLength},
		},
	}
}

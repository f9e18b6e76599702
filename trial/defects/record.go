package defects

import "lakebed/model"

// recordDefects are mistakes in telling what was stored from what was torn.
func recordDefects() []Defect {
	return []Defect{
		{
			ID: "torn-tail-accepted", Title: "records of a group are not verified when it is read",
			Origin: "bookkeeper#4659: corrupt bytes of the journal can parse as other entries",
			Mechanism: "a crash tears the last group, its header and length are whole, and records of old or zero bytes are " +
				"replayed as entries",
			UnitTest: "a test that flips a byte sees it; one that cuts the file short does not",
			Edits: []Edit{{
				File: "engine/record/scanner.go", Function: "verifyRecords",
				Original: "rh.Matches(records[at+HeaderSize : at+HeaderSize+n])", Result: "bool", Replacement: "return true",
			}},
			Scenario: "bookie", Checkers: append(losses(), model.CheckerInvented, model.CheckerList),
		},
	}
}

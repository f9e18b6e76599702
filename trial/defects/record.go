package defects

import "lakebed/model"

// recordDefects are mistakes in telling what was stored from what was torn.
func recordDefects() []Defect {
	return []Defect{
		{
			ID: "torn-tail-accepted", Title: "records of a group are not verified when it is read",
			Origin: "bookkeeper#4659: corrupt bytes of the journal can parse as other entries",
			Edits: []Edit{{
				File: "engine/record/scanner.go", Function: "verifyRecords",
				Original: "rh.Matches(records[at+HeaderSize : at+HeaderSize+n])", Result: "bool", Replacement: "return true",
			}},
			Scenario: "bookie", Checkers: append(losses(), model.CheckerInvented, model.CheckerList),
		},
	}
}

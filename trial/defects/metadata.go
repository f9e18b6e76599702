package defects

import "lakebed/model"

const metadataFolder = "engine/bookkeeper/metadata/"

// metadataDefects are mistakes with what the metadata store keeps.
func metadataDefects() []Defect {
	return []Defect{
		{
			ID: "create-retried", Title: "a creation whose answer was lost is made again under the same id",
			Origin: "found here: the first request was done after the ledger had been used and deleted",
			Mechanism: "the first create was done late, after the ledger of the second one had been used and deleted: its id" +
				" comes back",
			UnitTest: "nothing: needs a request that is done after its answer was given up",
			Edits: []Edit{{
				File: metadataFolder + "ledgers.go", Function: "Ledgers.CreateAt",
				Original: "notDone", Result: "func(error) bool", Replacement: "return again",
			}},
			Scenario: inCluster, Checkers: []string{model.CheckerMetadata},
		},
		{
			ID: "registered-once", Title: "a bookie that has registered does not look after its key any more",
			Origin:    ours + "a bookie registers again after its session was lost",
			Mechanism: "the session expires during a pause, and the bookie is alive and listed nowhere",
			UnitTest:  "a test that expires a session sees it",
			Edits: []Edit{{
				File: metadataFolder + "registration.go", Function: "Registration.keep",
				Original: "r.ensure(mode)", Result: "error",
				Replacement: `if r.everMade {
						return nil
					}
					return r.ensure(mode)`,
			}},
			Scenario: inCluster, Checkers: []string{checkerLiveness},
		},
		{
			ID: "wiped-bookie-accepted", Title: "a bookie with empty disks is let in under its old name",
			Origin:    "bookkeeper#2612: a bookie that lost its data answered \"no entry\" with confidence",
			Mechanism: "a bookie comes back empty under its name and answers \"absent\" with confidence; recovery believes it",
			UnitTest:  "a test of the cookie sees it",
			Edits: []Edit{
				{
					File: bookieFolder + "node/identity.go", Function: "node.decide",
					Original: "made && disk.stamped < directories", Result: "bool", Replacement: "return false",
				},
				{
					File: bookieFolder + "node/identity.go", Function: "node.decide",
					Original: "made && stored.InstanceID != disk.instanceID", Result: "bool", Replacement: "return false",
				},
				{
					File: bookieFolder + "node/identity.go", Function: "node.settleIdentity",
					Original: "made && stored != want", Result: "bool", Replacement: "return false",
				},
			},
			Scenario: inCluster, Checkers: []string{model.CheckerAcked},
		},
	}
}

package defects

import "lakebed/model"

// poolFolder is that of the lines to bookies.
const poolFolder = clientFolder + "pool/"

// lineDefects are mistakes about adds that wait in a line to a bookie, which all writers of a client share.
func lineDefects() []Defect {
	return []Defect{
		{
			ID: "line-forgotten", Title: "adds that wait for a bookie are dropped without an answer when it cannot be dialled",
			Origin: ours + "a request that was taken completes exactly once, also when the connection that it waits for does not come",
			Mechanism: "a bookie cannot be dialled, what waits for it is dropped, and the writer waits for answers that do " +
				"not come",
			UnitTest: "a test with a bookie that refuses connections sees it",
			Edits: []Edit{{
				File: poolFolder + "feed.go", Function: "feeder.refuseAll",
				Original:    "waiting = one.adds.peek(waiting, one.adds.count())",
				Replacement: "_ = waiting",
			}},
			Scenario: inCluster, Checkers: []string{checkerWorld, checkerMemory},
		},
		{
			ID: "line-ends-with-connection", Title: "a line is left alone when its connection breaks: nobody dials for what waits in it",
			Origin: ours + "while requests wait for a bookie a task works for them",
			Mechanism: "a connection breaks with requests in its line, no task looks after them, and nobody comes who would " +
				"start one",
			UnitTest: "nothing: needs a connection that breaks while its line is not empty",
			Edits: []Edit{{
				File: poolFolder + "feed.go", Function: "feeder.feed",
				Original: "return true", Replacement: "return f.pool.closed",
			}},
			Scenario: inCluster, Checkers: []string{checkerWorld, checkerMemory},
		},
		{
			ID: "lent-bytes-reused", Title: "the bytes of an acknowledged entry are given back while a line to a slow bookie still needs them",
			Origin: ours + "who lends a body keeps it as it is until the loan is returned",
			Mechanism: "an entry has its quorum, its bytes are used again, and the third bookie's line sends others under " +
				"its name",
			UnitTest: "nothing: needs a bookie slower than the quorum, and memory that is used again",
			Edits: []Edit{{
				File: clientFolder + "owner.go", Function: "Writer.release",
				Original: "op.share != nil", Result: "bool", Replacement: "return false",
			}},
			Scenario: inCluster, Checkers: []string{model.CheckerQuorum, model.CheckerDurability, model.CheckerInvented},
		},
	}
}

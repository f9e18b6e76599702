package defects

// livenessDefects are mistakes after which nothing is wrong but that something does not go on, or goes on for nothing.
func livenessDefects() []Defect {
	return append([]Defect{
		{
			ID: "wake-up-lost-after-change", Title: "appends that wait for the window are not woken once the ensemble has changed",
			Origin: "bookkeeper#1857 and its like: writers that hang in an ensemble change",
			Mechanism: "the window fills while a change holds acknowledgements back; they then come all at once, nobody tells the task that waits for room, " +
				"and no other acknowledgement is left to do it",
			UnitTest: "nothing: appends that do not wait are acknowledged all the same",
			Edits: []Edit{{
				File: clientFolder + "owner.go", Function: "Writer.acked",
				Original: "w.pass()",
				Replacement: `if len(e.Metadata.Fragments) == 1 {
						w.pass()
					}`,
			}},
			Scenario: inCluster, Checkers: []string{checkerWorld},
		},
		{
			ID: "retry-without-pause", Title: "a bookie that could not be reached is dialled again at once, with every request",
			Origin: ours + "a retry has a pause, and the pause grows",
			Mechanism: "a bookie is down and refuses connections; each read and each add that names it makes a dial of its own, so that a dead bookie costs " +
				"more than a living one",
			UnitTest: "a test that counts dials sees it; one that looks at results does not",
			Edits: []Edit{{
				File: poolFolder + "dial.go", Function: "Pool.failed",
				Original:    "one.notBefore = at + backoff - time.Duration(p.random.Int64N(half+1))",
				Replacement: "one.notBefore = at\n_ = half",
			}},
			Scenario: inCluster, Checkers: []string{checkerLiveness},
		},
	}, waitDefects()...)
}

// waitDefects are mistakes of those who wait at a bookie.
func waitDefects() []Defect {
	return []Defect{
		{
			ID: "batch-kept-by-broken-connection", Title: "the answers that a broken connection could not send are never counted as done",
			Origin:    ours + "what a connection has under way comes back, also when nobody is left to tell",
			Mechanism: "the peer is gone when its adds complete, their batch is not given back, and the connection, and with it a clean stop, waits for it",
			UnitTest:  "nothing: needs a connection that breaks between an add and its answer",
			Edits: []Edit{{
				File: serverFolder + "writer.go", Function: "writer.settle",
				Original: "w.c.giveBack(b)",
				Replacement: `if !w.failed {
						w.c.giveBack(b)
					}`,
			}},
			Scenario: inCluster, Checkers: []string{checkerWorld, checkerLiveness},
		},
	}
}

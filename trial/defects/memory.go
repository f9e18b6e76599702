package defects

// memoryDefects are mistakes after which memory is held that nobody needs, or more than the settings allow.
func memoryDefects() []Defect {
	return []Defect{
		{
			ID: "late-answer-kept", Title: "the answer of a replica that was slower than another one is not given back",
			Origin:    "bookkeeper#3745, #4788: buffers of late answers leaked",
			Mechanism: "a reader asks a second replica, the first answer wins, and the buffer of the other one, which comes later, has no owner any more",
			UnitTest:  "nothing: needs two replicas that answer the same question",
			Edits: []Edit{{
				File: clientFolder + "fetch.go", Function: "fetcher.answered",
				Original: "a.Release()",
			}},
			Scenario: inCluster, Checkers: []string{checkerMemory},
		},
		{
			ID: "watchers-not-removed", Title: "the watches of a connection that is gone stay in the metadata store",
			Origin:    "bookkeeper#2051: watchers were not removed",
			Mechanism: "each connection that breaks leaves its watches behind, and the store, which runs for years, tells nobody of changes until its memory is gone",
			UnitTest:  "a test that looks into the tree after a watcher was forgotten sees it; one that looks at notices does not",
			Edits: []Edit{{
				File: metadataFolder + "memory/watch.go", Function: "Tree.Forget",
				Original: "t.Unwatch(w, key)", Replacement: "_ = key",
			}},
			Scenario: inCluster, Checkers: []string{checkerMemory},
		},
		{
			ID: "cache-without-bound", Title: "adds are taken while the write cache is full",
			Origin:    "bookkeeper#3408, pulsar#16998: no limit was on by default, and a slow disk filled the memory",
			Mechanism: "the ledger disk is slow or stuck, so that no flush ends, and adds, whose journal is on another disk, go on into the cache beyond its bound",
			UnitTest:  "a test with a flush that does not end sees it",
			Edits: []Edit{
				{
					File: bookieFolder + "add.go", Function: "Store.lockForAdds",
					Original: "err != nil || (s.active.Bytes() < s.generationBytes() && (admitted || !hold && s.slowDown() == 0))", Result: "bool",
					Replacement: "if s.active.Bytes() >= s.generationBytes() {\ns.wantCheckpoint()\n}\nreturn true",
				},
			},
			Scenario: "bookie", Checkers: []string{checkerWorld},
		},
	}
}

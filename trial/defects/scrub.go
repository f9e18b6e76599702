package defects

// scrubDefects are mistakes of the scrubber. No reader notices them: rot is found too late, when the other copies are gone.
func scrubDefects() []Defect {
	const scrubFile, verifyFile = bookieFolder + "scrub.go", logFolder + "verify.go"
	return []Defect{
		{
			ID: "scrub-last-log", Title: "the scrubber leaves out the newest closed log",
			Origin:    ours + "a pass reads every closed entry log",
			Mechanism: "a pass ends one log too early, and rot in that log is not told until it is no longer the newest",
			UnitTest:  "a test that damages the newest closed log sees it",
			Edits: []Edit{{
				File: scrubFile, Function: "scrubber.pass", Original: "c.store.logs.Settled()", Result: "[]entrylog.LogID",
				Replacement: "ids := c.store.logs.Settled(); return ids[:max(len(ids)-1, 0)]",
			}},
			Scenario: "damage", Checkers: []string{checkerScrub},
		},
		{
			ID: "scrub-no-index", Title: "the scrubber reads records and never the index",
			Origin:    ours + "a pass reads the index blocks too, whose loss makes entries unknown",
			Mechanism: "rot in an index block is not read, and entries become unknown when the other copies are gone",
			UnitTest:  "a test that damages an index block sees it",
			Edits: []Edit{{
				File: verifyFile, Function: "Verifier.Verify", Original: "f.closed", Result: "bool", Replacement: "return false",
			}},
			Scenario: "damage", Checkers: []string{checkerScrub},
		},
		{
			ID: "scrub-old-versions", Title: "the scrubber takes an entry that was stored again for one that the index has wrong",
			Origin: ours + "of several versions of an entry the index has the newest",
			Mechanism: "an older version in the log does not agree with the index, which is right, and a sound log is called" +
				" rotten",
			UnitTest: "a test of an entry stored twice sees it",
			Edits: []Edit{{
				File: verifyFile, Function: "Verifier.agrees", Original: "said.offset <= is.offset", Result: "bool",
				Replacement: "return true",
			}},
			Scenario: "bookie", Checkers: []string{checkerScrub},
		},
		{
			ID: "scrub-first-flaw", Title: "what comes behind the first flaw is not read",
			Origin:    ours + "a scrubber survives what it finds",
			Mechanism: "after the first flaw the pass goes through and looks at nothing",
			UnitTest:  "a test with two flaws sees it",
			Edits: []Edit{{
				File: scrubFile, Function: "scrubber.pass",
				Original: "c.verify(entrylog.FileName(id), func() error { return c.verifier.Verify(id) })", Result: "bool",
				Replacement: "return len(c.flaws.list) > 0 || c.verify(entrylog.FileName(id), func() error { return c.verifier.Verify(id) })",
			}},
			Scenario: "damage", Checkers: []string{checkerScrub},
		},
	}
}

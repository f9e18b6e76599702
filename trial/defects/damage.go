package defects

import "lakebed/model"

// damageDefects are mistakes that show only when stored bytes go bad: loss must be detected, never served.
func damageDefects() []Defect {
	return append([]Defect{
		{
			ID: "rot-as-torn-tail", Title: "a bad group in the middle of a file is taken for a torn end",
			Origin:    "Alagappan et al., FAST 2018 (protocol-aware recovery): a crash must be told from corruption",
			Mechanism: "a bad sector in the middle of the journal cuts off the durable groups behind it",
			UnitTest:  "a test that damages the middle of a file sees it",
			Edits: []Edit{
				{
					File: "engine/record/scanner.go", Function: "Scanner.classify",
					Original: "s.proof(window[:n], at)", Result: "(groupHeader, bool)", Replacement: "return groupHeader{}, false",
				},
				{
					File: journalFolder + "replay.go", Function: "replay.group",
					Original: "v.DurableThrough >= r.expected", Result: "bool", Replacement: "return false",
				},
			},
			Scenario: "damage", Checkers: []string{model.CheckerBookie, model.CheckerFence, model.CheckerDeleted},
		},
		{
			ID: "limbo-ignored", Title: "a bad last group is taken for one that nobody was told of",
			Origin: "bookkeeper BP-46: a bookie that may have lost data must not answer \"absent\"",
			Mechanism: "the last group before a crash is rotten, it may have been acknowledged, and \"absent\" is answered " +
				"with confidence",
			UnitTest: "a test that damages the last group sees it, if it knows what to expect",
			Edits: []Edit{{
				File: bookieFolder + "open.go", Function: "Store.boot",
				Original: "found.Undecided", Result: "bool", Replacement: "return false",
			}},
			Scenario: "doubt", Checkers: []string{model.CheckerBookie, model.CheckerFence, model.CheckerDeleted},
		},
		{
			ID: "limbo-forgotten", Title: "the ledger table leaves doubt out, so that the next start forgets it",
			Origin: ours + "limbo is part of every checkpoint",
			Mechanism: "doubt is kept in memory; a second start finds a clean journal and answers \"absent\" for what the " +
				"first one lost",
			UnitTest: "nothing: needs damage and two starts",
			Edits: []Edit{
				{
					File: bookieFolder + "ledgertable/codec.go", Function: "appendLedger",
					Original: "flag(r.Limbo, flagLimbo)", Result: "byte", Replacement: "return 0",
				},
				{
					File: bookieFolder + "ledgertable/file.go", Function: "File.writeGroups",
					Original: "flag(changes.Uncertain, 1)", Result: "byte", Replacement: "return 0",
				},
			},
			Scenario: "doubt", Checkers: []string{model.CheckerBookie, model.CheckerFence, model.CheckerDeleted},
		},
		{
			ID: "limbo-adds-accepted", Title: "a ledger in doubt takes ordinary adds, although its fence may be lost",
			Origin:    "bookkeeper BP-46: a bookie that may have lost a fence must not take adds",
			Mechanism: "a lost fence lets the old writer's add in behind a recovery",
			UnitTest:  "nothing: needs the loss of the very group that held a fence",
			Edits: []Edit{{
				File: bookieFolder + "add.go", Function: "Store.refuse",
				Original: "l.Limbo", Result: "bool", Replacement: "return false",
			}},
			Scenario: "doubt", Checkers: []string{model.CheckerFence, model.CheckerDeleted},
		},
	}, rotDefects()...)
}

// rotDefects are mistakes about entry logs with bad bytes.
func rotDefects() []Defect {
	return []Defect{
		{
			ID: "corrupt-as-absent", Title: "an entry whose bytes are bad is answered as not there",
			Origin:    "bookkeeper#2908: a missing or corrupt entry log was reported as no such entry",
			Mechanism: "rot in the log is answered as \"no such entry\", which recovery takes for a proof",
			UnitTest:  "a test that flips a byte and looks at the class of the error sees it",
			Edits: []Edit{{
				File: readFile, Function: "Store.notInLogs",
				Original:    `return fmt.Errorf("entry %d of ledger %d: %w: %w", entry, id, ErrCorrupt, err)`,
				Replacement: `return fmt.Errorf("entry %d of ledger %d: %w", entry, id, ErrNoEntry)`,
			}},
			Scenario: "damage", Checkers: []string{model.CheckerBookie, model.CheckerVanished},
		},
		{
			ID: "read-unverified", Title: "an entry is served without a look at its checksum",
			Origin:    ours + "a read answers with bytes that pass their checksum, or with an error",
			Mechanism: "rot in the log is served as data",
			UnitTest:  "a test that flips a byte sees it",
			Edits: []Edit{{
				File: logFolder + "find.go", Function: "recordAt",
				Original: "!h.Matches(body)", Result: "bool", Replacement: "return false",
			}},
			Scenario: "damage", Checkers: []string{model.CheckerInvented},
		},
		{
			ID: "index-unverified", Title: "a block of an index is used without a look at its checksum",
			Origin:    ours + "an index block that cannot be read answers \"unknown\", never \"absent\"",
			Mechanism: "rot in an index block makes entries absent, or finds them at other places",
			UnitTest:  "a test that flips a byte of an index block sees it",
			Edits: []Edit{{
				File: logFolder + "index.go", Function: "openBlock",
				Original: "crc32.Checksum(block[8:], castagnoli) != binary.BigEndian.Uint32(block[4:])", Result: "bool",
				Replacement: "return false",
			}},
			Scenario: "damage", Checkers: []string{model.CheckerBookie, model.CheckerVanished},
		},
		{
			ID: "damaged-log-forgotten", Title: "a log that cannot be read to its end counts as whole",
			Origin: ours + "if some log is damaged, what is not found is unknown",
			Mechanism: "a scan ends at a bad group, the log counts as read to its end, and what was behind is absent instead" +
				" of unknown",
			UnitTest: "a test that damages the middle of an open log and starts again sees it",
			Edits: []Edit{{
				File: logFolder + "open.go", Function: "Logs.scanEnded",
				Original: "s.Offset() == f.durable", Result: "bool", Replacement: "return true",
			}},
			Scenario: "damage", Checkers: []string{model.CheckerBookie, model.CheckerVanished, model.CheckerLastEntry},
		},
	}
}

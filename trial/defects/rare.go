package defects

import "lakebed/model"

// rareDefects are mistakes in what hardly ever happens by itself: places that the world asks for by a point (host.Probe), and
// moments at which a plan aims its faults.
func rareDefects() []Defect {
	return append([]Defect{
		{
			ID: "early-seal-not-lifted", Title: "a group that was sealed before it was full leaves the next one sealed",
			Origin: ours + "an early branch (journal.seal-now) leaves everything as the usual one does",
			Mechanism: "the point seals a group that has room; when it is committed only its bytes are set back, the next group takes nothing, and all adds wait " +
				"for a commit that nothing starts",
			UnitTest: "nothing: without the point groups are sealed by their bytes only",
			Edits: []Edit{{
				File: hostFolder + "groupcommit.go", Function: "GroupCommit.next",
				Original: "c.bytes, c.sealed = 0, false", Replacement: "c.bytes = 0",
			}},
			Scenario: "bookie", Checkers: []string{checkerWorld, checkerLiveness},
		},
		{
			ID: "early-roll-syncs-nothing", Title: "the first group of a journal file that was begun early is not synced",
			Origin:    ours + "an early branch (journal.roll-now) leaves everything as the usual one does",
			Mechanism: "the point rolls the journal while there is room; the group that follows is acknowledged unsynced, and a power cut before the next sync takes it",
			UnitTest:  "nothing: needs the point and a power cut",
			Edits: []Edit{{
				File: journalFolder + "journal.go", Function: "Journal.commit",
				Original: "j.sync(sequence)", Result: "error",
				Replacement: `if early {
						return nil
					}
					return j.sync(sequence)`,
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "snapshot-without-first-log", Title: "a snapshot of the ledger table leaves out the first of several entry logs",
			Origin: ours + "a snapshot is the whole content, whatever made it due",
			Mechanism: "a start, a file that has grown, or the point ledgertable.snapshot-now makes a snapshot due; the next start does not know the log " +
				"and answers what it holds as absent",
			UnitTest: "a test with two logs, a snapshot and a restart sees it; one with one log does not",
			Edits: []Edit{{
				File: bookieFolder + "ledgertable/file.go", Function: "File.writeGroups",
				Original: "logs.Set", Result: "[]entrylog.LogState",
				Replacement: `if changes.whole && f.sequence == 0 && len(logs.Set) > 1 {
						return logs.Set[1:]
					}
					return logs.Set`,
			}},
			Scenario: "bookie", Checkers: losses(),
		},
		{
			ID: "replay-flush-drops-last", Title: "a flush in the middle of a replay lets go of the group that is being replayed",
			Origin:    ours + "an early branch (bookie.replay-flush-now) leaves everything as the usual one does",
			Mechanism: "replay makes room for the next entry and goes on behind it, so that the entry which found the cache full is neither in the log nor in the cache",
			UnitTest:  "a test whose journal is larger than the cache sees it",
			Edits: []Edit{{
				File: bookieFolder + "open.go", Function: "Store.replay",
				Original: "if err := s.replayRoom(); err != nil {\nreturn err\n}",
				Replacement: `before := s.active.Entries()
					if err := s.replayRoom(); err != nil {
						return err
					}
					if before > 0 && s.active.Entries() == 0 {
						return nil
					}`,
			}},
			Scenario: "starts", Checkers: losses(),
		},
	}, aimedDefects()...)
}

// aimedDefects show when a fault hits the right node at the right moment.
func aimedDefects() []Defect {
	return []Defect{
		{
			ID: "recovery-closes-over-new-fragment", Title: "a recovery closes although the last fragment is not the one that it fenced",
			Origin:    ours + "who is fenced is the last ensemble; another one means to begin again",
			Mechanism: "the writer's ensemble change and the recovery's mark cross, the fragment that came in between is neither fenced nor read, and what it holds is cut off",
			UnitTest:  "nothing: needs a change of the metadata between a recovery's mark and its close",
			Edits: []Edit{
				{
					File: protocolFolder + "recovery.go", Function: "Recovery.proceed",
					Original: "r.metadata, r.version = m, v",
					Replacement: `if r.phase != marking {
							r.metadata = m
						}
						r.version = v`,
				},
				{
					File: protocolFolder + "recovery.go", Function: "Recovery.applied",
					Original: "r.metadata, r.version = r.write.proposed, v", Replacement: "r.version = v",
				},
			},
			Scenario: inRivals, Checkers: []string{model.CheckerAcked, model.CheckerDurability},
		},
	}
}

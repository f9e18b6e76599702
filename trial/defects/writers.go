package defects

import "lakebed/model"

// Folders of the ledger client.
const (
	clientFolder   = "engine/bookkeeper/client/"
	protocolFolder = clientFolder + "protocol/"
)

// Scenarios of replicated ledgers.
const (
	inCluster = "cluster"
	inRivals  = "cluster-rivals"
	inFences  = "cluster-fences"
	inForeign = "cluster-foreign"
	inStripes = "cluster-stripes"
)

// writerDefects are mistakes about which bookies count, and which entries are acknowledged when.
func writerDefects() []Defect {
	return append([]Defect{
		{
			ID: "acks-before-metadata", Title: "entries on new bookies are acknowledged before the metadata name these",
			Origin: "bookkeeper#1591: another client's metadata never named the bookies, and acknowledged entries were lost",
			Mechanism: "the writer goes on with new bookies while its metadata write is under way; a recovery meanwhile " +
				"reads the old ones and closes without the entries",
			UnitTest: "nothing: needs a slow metadata store and a second client",
			Edits: []Edit{
				{
					File: protocolFolder + "change.go", Function: "Writer.storeSwaps",
					Original: "w.options.AckBeforeMetadata", Result: "bool", Replacement: "return true",
				},
				{
					File: protocolFolder + "writer.go", Function: "Writer.frozen",
					Original: "w.options.AckBeforeMetadata", Result: "bool", Replacement: "return true",
				},
				{
					File: protocolFolder + "write.go", Function: "Writer.judge",
					Original: "w.options.AckBeforeMetadata", Result: "bool", Replacement: "return true",
				},
			},
			Scenario: inRivals, Checkers: []string{model.CheckerQuorum},
		},
		{
			ID: "acks-during-change", Title: "acknowledgements go on after the start of the new fragment was computed",
			Origin: "bookkeeper#4651: the fragment began at an entry that the replaced bookies acknowledged",
			Mechanism: "the LAC moves while the change that starts at LAC+1 is being stored, so that acknowledged entries " +
				"fall to the new fragment",
			UnitTest: "nothing: needs an answer between the computation and the write",
			Edits: []Edit{{
				File: protocolFolder + "writer.go", Function: "Writer.frozen",
				Original: "w.change.running", Result: "bool", Replacement: "return false",
			}},
			Scenario: inRivals, Checkers: []string{model.CheckerEnsemble},
		},
		{
			ID: "unset-one-by-one", Title: "when a bookie is replaced, an entry is acknowledged while later ones still count the old bookie",
			Origin: "bookkeeper#3005: unsetting an entry outside the replaced index acknowledged entries that were not unset yet",
			Mechanism: "in a striped ledger one entry's acknowledgement pulls later ones along, which still count the bookie" +
				" that is replaced",
			UnitTest: "nothing: needs stripes, a failure, and answers in one order",
			Edits: []Edit{{
				File: protocolFolder + "change.go", Function: "Writer.install",
				Original: "for i := range w.window.count {\np := w.window.at(i)\np.acked, p.failed = p.acked&^changed, p.failed&^changed\n}",
				Replacement: `for i := 0; i < w.window.count; i++ {
						p := w.window.at(i)
						p.acked, p.failed = p.acked&^changed, p.failed&^changed
						if w.complete(w.window.first) {
							running := w.change.running
							w.change.running = false
							w.acknowledge()
							w.change.running, i = running, -1
						}
					}`,
			}},
			Scenario: inStripes, Checkers: []string{model.CheckerDurability},
		},
		{
			ID: "ack-behind-hole", Title: "an entry is acknowledged once the one behind it has its quorum",
			Origin:    ours + "entries are acknowledged in order, each after its ack quorum",
			Mechanism: "an entry counts as acknowledged because the next one has its quorum; its own bookies crash",
			UnitTest:  "a test with answers out of order sees it",
			Edits: []Edit{{
				File: protocolFolder + "writer.go", Function: "Writer.acknowledge",
				Original: "w.complete(w.window.first)", Result: "bool",
				Replacement: "return w.complete(w.window.first) || w.window.count > 1 && w.complete(w.window.first+1)",
			}},
			Scenario: inRivals, Checkers: []string{model.CheckerQuorum},
		},
		{
			ID: "close-with-last-pushed", Title: "a close stores the last entry that was sent instead of the last that was acknowledged",
			Origin:    ours + "a ledger is closed with its LAC as last entry",
			Mechanism: "metadata name a last entry that no quorum has, and readers miss it for ever",
			UnitTest:  "a test that closes with an add under way sees it",
			Edits: []Edit{
				{File: protocolFolder + "write.go", Function: "Writer.Close", Original: "w.change.stop()",
					Replacement: "w.change.stop()\nw.lac, w.lacLength = w.LastPushed(), w.length"},
			},
			Scenario: inCluster, Checkers: []string{model.CheckerDivergence},
		},
	}, changeDefects()...)
}

// changeDefects are mistakes in replacing bookies.
func changeDefects() []Defect {
	return append([]Defect{
		{
			ID: "fragment-at-lac", Title: "a new fragment starts at the last acknowledged entry instead of behind it",
			Origin:    ours + "an ensemble change is a new fragment at LAC+1",
			Mechanism: "the last acknowledged entry falls to bookies that never got it",
			UnitTest:  "a test of one ensemble change sees it",
			Edits: []Edit{{
				File: protocolFolder + "change.go", Function: "Writer.swapped",
				Original: "w.lac + 1", Result: "ledger.EntryID", Replacement: "return max(w.lac, m.Last().First)",
			}},
			Scenario: inCluster, Checkers: []string{model.CheckerEnsemble},
		},
		{
			ID: "second-swap-forgotten", Title: "of bookies that are replaced together only the first is sent what is pending",
			Origin:    "bookkeeper#4097: metadata named replacements that never received some acknowledged entries",
			Mechanism: "two bookies are replaced in one change, and the second new one counts without having anything",
			UnitTest:  "a test with two failures at once sees it",
			Edits: []Edit{
				{
					File: protocolFolder + "change.go", Function: "Writer.install",
					Original:    "p.acked, p.failed = p.acked&^changed, p.failed&^changed",
					Replacement: "p.acked, p.failed = p.acked&^(changed&-changed), p.failed&^changed",
				},
				{
					File: protocolFolder + "change.go", Function: "Writer.install",
					Original: "changed.Has(index)", Result: "bool", Replacement: "return (changed & -changed).Has(index)",
				},
			},
			Scenario: inCluster, Checkers: []string{checkerWorld},
		},
		{
			ID: "resend-nothing", Title: "a new bookie is not sent the entries that are pending",
			Origin:    ours + "what is pending goes to all bookies that are new",
			Mechanism: "entries that are pending never reach the new bookie, and miss their quorum for ever",
			UnitTest:  "a test of one ensemble change with pending entries sees it",
			Edits: []Edit{{
				File: protocolFolder + "change.go", Function: "Writer.install",
				Original: "changed.Has(index)", Result: "bool", Replacement: "return false",
			}},
			Scenario: inCluster, Checkers: []string{checkerWorld},
		},
		{
			ID: "no-resend-to-former-member", Title: "a bookie that comes back to its place in the ensemble is not sent what is pending",
			Origin:    "bookkeeper#4459: two changes led back to the first ensemble, nothing was sent again, and the writer hung",
			Mechanism: "a bookie fails, comes back by a second change, and is taken for one that has the entries",
			UnitTest:  "nothing: needs two changes that lead back",
			Edits: []Edit{{
				File: protocolFolder + "change.go", Function: "Writer.install",
				Original: "changed.Has(index)", Result: "bool",
				Replacement: `for _, f := range m.Fragments[:len(m.Fragments)-1] {
						if f.Ensemble[index] == m.Last().Ensemble[index] {
							return false
						}
					}
					return changed.Has(index)`,
			}},
			Scenario: inCluster, Checkers: []string{checkerWorld},
		},
		{
			ID: "change-without-end", Title: "the flag that holds acknowledgements back is taken down only if something was sent again",
			Origin:    "bookkeeper#1857: changingEnsemble stayed set, and adds hung for ever",
			Mechanism: "a change ends when nothing is pending, its flag stays, and no later entry is acknowledged",
			UnitTest:  "a test of a change with an empty window sees it",
			Edits: []Edit{{
				File: protocolFolder + "change.go", Function: "Writer.settle",
				Original: "c.running = false", Replacement: "c.running = w.window.count == 0",
			}},
			Scenario: inCluster, Checkers: []string{checkerWorld},
		},
	}, changeMetadataDefects()...)
}

// changeMetadataDefects are mistakes in judging what became of a conditional write.
func changeMetadataDefects() []Defect {
	return []Defect{
		{
			ID: "unclear-change-dropped", Title: "an ensemble change that met a conflict, or lost its answer, is given up without looking what is stored",
			Origin: "bookkeeper#1886: after a conflict the writer lost track of which bookies the metadata name",
			Mechanism: "the write was done and its answer lost; the writer goes on with the old bookies while the metadata " +
				"name the new ones",
			UnitTest: "nothing: needs a lost answer of the metadata store",
			Edits: []Edit{{
				File: protocolFolder + "write.go", Function: "Writer.notWritten",
				Original: "w.write.read(&w.out)",
				Replacement: `if w.status == running {
						w.change.failing = 0
						w.settle()
						return
					}
					w.write.read(&w.out)`,
			}},
			Scenario: inCluster, Checkers: []string{model.CheckerQuorum},
		},
		{
			ID: "conflict-as-success", Title: "a conditional write that met another version is taken for done",
			Origin: ours + "only the answer \"applied\" puts metadata in force",
			Mechanism: "a recovery has marked the ledger, the writer's write meets that version, and it goes on as if it " +
				"were alone",
			UnitTest: "a test of a conflict sees it",
			Edits: []Edit{{
				File: clientFolder + "answers.go", Function: "Client.write",
				Original: "protocol.MetadataConflict", Result: "protocol.MetadataOutcome", Replacement: "return protocol.MetadataApplied",
			}},
			Scenario: inRivals, Checkers: []string{model.CheckerDivergence},
		},
		{
			ID: "lost-answer-as-success", Title: "a conditional write whose answer was lost is taken for done",
			Origin:    ours + "a write of unknown outcome is judged anew",
			Mechanism: "the write was not done and its answer lost; the writer acknowledges on bookies that no metadata name",
			UnitTest:  "nothing, unless it loses answers of writes that were not done",
			Edits: []Edit{{
				File: clientFolder + "answers.go", Function: "Client.write",
				Original: "protocol.MetadataUnknown", Result: "protocol.MetadataOutcome", Replacement: "return protocol.MetadataApplied",
			}},
			Scenario: inCluster, Checkers: []string{model.CheckerDivergence},
		},
	}
}

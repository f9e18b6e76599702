package defects

import "lakebed/model"

// The segment log: its scenario and folders.
const (
	inSegments      = "segments"
	seglogFolder    = "engine/seglog/"
	partitionFolder = seglogFolder + "partition/"
	commitFile      = partitionFolder + "commit.go"
	recoverFile     = partitionFolder + "recover.go"
)

// segmentLosses are the checkers that see an acknowledged message go. A store that notices by itself does not answer; one that
// does not gives the cursor to another message.
func segmentLosses() []string {
	return []string{model.CheckerSegmentLost, model.CheckerSegmentContent, checkerHealed}
}

// segmentDefects are mistakes of the segment log: in what it stores and finds again, and in taking directories out and back.
func segmentDefects() []Defect {
	return append([]Defect{
		{
			ID: "segment-sync-retried", Title: "a segment log syncs again after a failed sync, and goes on",
			Origin:    "PostgreSQL fsyncgate (2018); Rebello et al., USENIX ATC 2020",
			Mechanism: "the failed sync marks the pages clean, so the second one succeeds without writing; a power cut takes the acknowledged messages",
			UnitTest:  "nothing: a fake file that fails once also writes the second time",
			Edits: []Edit{{
				File: commitFile, Function: "Partition.store",
				Original: "f.Sync()", Result: "error",
				Replacement: `if f.Sync() == nil {
						return nil
					}
					return f.Sync()`,
			}},
			Scenario: inSegments, Checkers: segmentLosses(),
		},
		{
			ID: "segment-name-not-durable", Title: "the name of a new segment's log is not made durable",
			Origin:    "KAFKA-3968: the directory was not fsynced after a segment was created, and a flushed file could vanish",
			Mechanism: "messages are written and synced into a file whose directory entry a power cut takes back, and with it all of them",
			UnitTest:  "nothing: needs a power cut before the next sync of the directory",
			Edits: []Edit{{
				File: commitFile, Function: "Partition.create",
				Original: "p.place.Dir.SyncDir()", Result: "error", Replacement: "return nil",
			}},
			Scenario: inSegments, Checkers: []string{model.CheckerSegmentLost},
		},
		{
			ID: "salvage-in-place", Title: "a start seals the newest segment as it is, instead of a copy of what is whole",
			Origin: "Rebello et al., USENIX ATC 2020: after a failed sync the page cache holds what the media does not",
			Mechanism: "a sync fails, the process starts again and reads the log out of the page cache, shows it and calls it sealed; the next " +
				"power cut takes what only the cache held",
			UnitTest: "nothing: needs a failed sync, a restart, and then a power cut",
			Edits: []Edit{{
				File: recoverFile, Function: "Partition.mend",
				Original: "limit == noLimit", Result: "bool", Replacement: "return false",
			}},
			Scenario: inSegments, Checkers: segmentLosses(),
		},
		{
			ID: "checkpoint-before-sync", Title: "a checkpoint of a segment says of a group that is written and not synced that it is durable",
			Origin: ours + "a checkpoint names nothing that a crash can take back",
			Mechanism: "a sync fails, the process starts again and believes the checkpoint, so that it does not copy the group out of the page " +
				"cache; it shows it, and the next power cut takes it",
			UnitTest: "nothing: needs a failed sync, a restart, and then a power cut",
			Edits: []Edit{{
				File: commitFile, Function: "Partition.store",
				Original: "dirty = true",
				Replacement: `dirty = true
					p.mutex.Lock()
					early := p.capture(s)
					p.mutex.Unlock()
					early.next, early.logBytes = next, end
					for _, t := range g.times {
						early.newest = max(early.newest, t)
					}
					if err := p.checkpoint(s, early); err != nil {
						return err
					}`,
			}},
			Scenario: inSegments, Checkers: segmentLosses(),
		},
		{
			ID: "segment-checkpoint-shares-sector", Title: "a checkpoint covers messages in whose last sector the next ones will lie",
			Origin:    ours + "no write touches a sector in which durable bytes lie; compare SQLite's powersafe overwrite",
			Mechanism: "in mode never a log does not end a sector when it is synced for a checkpoint; the next append is torn, and spoils what is covered",
			UnitTest:  "nothing: needs a device that spoils whole sectors, and a power cut behind a checkpoint",
			Edits: []Edit{
				{File: commitFile, Function: "Partition.pads", Original: "behind >= p.checkpointDue()", Result: "bool", Replacement: "return false"},
				{
					File: partitionFolder + "settle.go", Function: "Partition.toSettle", Original: "paddingFor(s.bytes, p.config.PadBytes) == 0", Result: "bool",
					Replacement: "return true",
				},
			},
			Scenario: inSegments, Checkers: segmentLosses(),
		},
		{
			ID: "tail-trusted-by-length", Title: "a record at the end of a log is taken for whole because its length says so",
			Origin: "simulation facts 3.2 (Alagappan et al., FAST 2018): a file may have grown, with zeros or old bytes in the hole",
			Mechanism: "a power cut keeps the size and the first page of a record and drops another one of its pages; the start finds a length that fits " +
				"and serves bytes that nobody sent",
			UnitTest: "a test that flips a byte of a record sees it; one that cuts the file short does not",
			Edits: []Edit{{
				File: seglogFolder + "message/record.go", Function: "Decode",
				Original: "sum != want", Result: "bool", Replacement: "return false",
			}},
			Scenario: inSegments, Checkers: []string{model.CheckerSegmentInvented, model.CheckerSegmentContent, model.CheckerSegmentLost},
		},
		{
			ID: "failed-group-confirmed", Title: "appends of a group that could not be written are told that it was",
			Origin:    ours + "fail-stop: after a failed write or sync nothing is acknowledged any more",
			Mechanism: "a write or sync fails, the group's outcome is dropped on the way to the appenders, and the messages are gone after the restore",
			UnitTest:  "a test with a disk that fails sees it",
			Edits: []Edit{{
				File: commitFile, Function: "Partition.settle",
				Original: "err = p.answer(g.told, err)", Replacement: "err = nil",
			}},
			Scenario: inSegments, Checkers: []string{model.CheckerSegmentLost},
		},
		{
			ID: "shown-before-synced", Title: "messages can be read before the sync that makes them durable, which comes some milliseconds later",
			Origin:    ours + "what a reader was shown is there until retention removes it",
			Mechanism: "a consumer reads a group while its sync is under way; a power cut takes the group, and what was shown is gone",
			UnitTest:  "nothing: needs a read and a power cut while a sync is under way",
			Edits: []Edit{
				{
					File: commitFile, Function: "Partition.store",
					Original: "p.durable()", Result: "bool",
					// A sync of the simulated disk takes less than readers need to come by: one that is slow does not.
					Replacement: "p.publish(s, g, end)\np.group.Sleep(20_000_000)\nreturn p.durable()",
				},
				{
					File: commitFile, Function: "Partition.store",
					Original: "p.publish(s, g, end)",
				},
			},
			Scenario: inSegments, Checkers: []string{model.CheckerSegmentLost},
		},
		{
			ID: "zeros-over-messages", Title: "zeros ahead go on where the former ones ended, although a group has gone past that",
			Origin:    ours + "zeros are written where no message lies",
			Mechanism: "a group is longer than the one before it, reaches beyond the zeros, and its end is overwritten just before the sync that acknowledges it",
			UnitTest:  "a test with groups of one length, or with one append after the other, does not see it",
			Edits: []Edit{{
				File: partitionFolder + "zeros.go", Function: "Partition.ahead",
				Original: "max(end, p.zeroed)", Result: "int64",
				Replacement: `if p.zeroed > 0 {
						return p.zeroed
					}
					return end`,
			}},
			Scenario: inSegments, Checkers: segmentLosses(),
		},
	}, directoryDefects()...)
}

// directoryDefects are mistakes of a segment log with directories that fail, with retention, and with looks by time.
func directoryDefects() []Defect {
	return []Defect{
		{
			ID: "unknown-called-refused", Title: "an append whose commit hangs is answered as if nothing had been stored",
			Origin: ours + "an outcome that is not known is told as such, and never tried elsewhere",
			Mechanism: "a disk is stuck in a commit, the group is given up and refused, and the store puts the messages into another partition; then the first " +
				"commit goes through, and both have them",
			UnitTest: "a test with a disk that hangs and then goes on sees it; one with a disk that fails does not",
			Edits: []Edit{{
				File: commitFile, Function: "Partition.answer",
				Original: "o.tried", Result: "bool", Replacement: "return false",
			}},
			Scenario: inSegments, Checkers: []string{model.CheckerSegmentContent, model.CheckerSegmentInvented},
		},
		{
			ID: "ejected-for-good", Title: "a directory that failed once is never looked at again",
			Origin:    ours + "an ejected directory comes back when it works again",
			Mechanism: "a failed write ejects the directory, the fault goes away, and the task that keeps the directory passes over it",
			UnitTest:  "a test of readmission sees it",
			Edits: []Edit{{
				File: seglogFolder + "volume.go", Function: "volume.keep",
				Original: "v.readmit()", Replacement: "",
			}},
			Scenario: inSegments, Checkers: []string{checkerEjection},
		},
		{
			ID: "retention-by-first-message", Title: "retention takes segments whose messages are almost too old",
			Origin:    ours + "retention removes nothing that is young",
			Mechanism: "the age is compared with a limit that lies ahead of the period by a tenth of a second, so that segments with young messages go",
			UnitTest:  "a test with a message at the very edge sees it",
			Edits: []Edit{{
				File: partitionFolder + "retain.go", Function: "Partition.expire",
				Original: "s.newest < keep.From", Result: "bool", Replacement: "return keep.From > 0 && s.newest < keep.From+100",
			}},
			Scenario: inSegments, Checkers: []string{model.CheckerSegmentTrimmed},
		},
		{
			ID: "seek-by-newest", Title: "a look-up by time picks the segment by its own newest message, although clocks go back",
			Origin: ours + "a look-up by time finds the first message of that time or later",
			Mechanism: "a clock that was set back leaves a segment that is older than the one before it, so that times of segments fall and a binary search " +
				"over them goes past the right one",
			UnitTest: "nothing, unless it sets the clock back between two segments",
			Edits: []Edit{{
				File: partitionFolder + "seek.go", Function: "Partition.locateTime",
				Original: "s.peak < t", Result: "bool", Replacement: "return s.newest < t",
			}},
			Scenario: inSegments, Checkers: []string{model.CheckerSegmentTime},
		},
	}
}

package defects

import "lakebed/model"

// segmentFileDefects are mistakes of the segment log with its files: in starts after a crash, in indexes, and with one log in
// two places.
func segmentFileDefects() []Defect {
	return append([]Defect{
		{
			ID: "copy-renamed-before-synced", Title: "the copy of the newest log takes its place before it is durable",
			Origin:    "KAFKA-16541: a file was renamed without a sync, and could be empty after a crash",
			Mechanism: "a start copies the newest log, renames the copy and syncs the directory; a power cut leaves the name and takes the bytes",
			UnitTest:  "nothing: needs two power cuts",
			Edits: []Edit{{
				File: recoverFile, Function: "copier.finish", Original: "c.file.Sync()", Result: "error", Replacement: "return nil",
			}},
			Scenario: inSegments, Checkers: segmentLosses(),
		},
		{
			ID: "log-removed-before-copy", Title: "the newest log is removed before its copy gets its name",
			Origin:    "KAFKA-12520: a crash in a segment swap left holes",
			Mechanism: "the power goes between the two; the next start removes the copy as unfinished, and the messages are gone",
			UnitTest:  "nothing: needs a crash between two calls",
			Edits: []Edit{{
				File: recoverFile, Function: "copier.finish", Original: "c.p.place.Dir.Rename(c.name+host.UnfinishedSuffix, c.name)", Result: "error",
				Replacement: `if err := c.p.place.Dir.Remove(c.name); err != nil {
						return err
					}
					if err := c.p.place.Dir.SyncDir(); err != nil {
						return err
					}
					return c.p.place.Dir.Rename(c.name+host.UnfinishedSuffix, c.name)`,
			}},
			Scenario: inSegments, Checkers: segmentLosses(),
		},
		{
			ID: "empty-log-forgotten", Title: "a log without a message is no segment to a start",
			Origin:    "KAFKA-13603: an empty active segment was not persisted, and recovery treated it as an error",
			Mechanism: "retention has removed all other segments, whose next cursor only the empty log's name tells; or the log cannot be made, since it is there",
			UnitTest:  "a test that restarts after everything was removed sees it",
			Edits: []Edit{{
				File: partitionFolder + "listing.go", Function: "Partition.tidy", Original: "suffix == logSuffix", Result: "bool",
				Replacement: "return suffix == logSuffix && e.Size > 0",
			}},
			Scenario: inSegments, Checkers: append(segmentLosses(), checkerEjection),
		},
		{
			ID: "segment-sealed-unsynced", Title: "a segment is sealed before its log is durable, and its index files are believed",
			Origin:    "fluss#2941: recovery only ran when an index looked corrupt, and met a torn log with whole indexes",
			Mechanism: "in a mode that does not sync, a power cut takes the end of a sealed log, and leaves what came after it",
			UnitTest:  "nothing: needs a power cut",
			Edits: []Edit{
				{File: partitionFolder + "seal.go", Function: "Partition.finish", Original: "p.syncBase(s.base)", Result: "error", Replacement: "return nil"},
			},
			Scenario: inSegments, Checkers: segmentLosses(),
		},
		{
			ID: "handle-of-replaced-log", Title: "a log that a start has replaced by its copy is still used through the old handle",
			Origin: "alibaba/rocketmq#419: two objects in memory for one file name, appends go to one and reads to the other",
			Mechanism: "a directory comes back while its files are open; the empty log is replaced and taken over, and appends go to a file that has no name " +
				"any more",
			UnitTest: "nothing, unless a partition is restored with an empty log, appended to, and opened again",
			Edits: []Edit{
				{File: recoverFile, Function: "Partition.salvage", Original: "p.forget(rest.base)", Replacement: ""},
				{File: partitionFolder + "partition.go", Function: "Partition.Restore", Original: "p.forgetFiles()", Replacement: ""},
			},
			Scenario: inSegments, Checkers: append(segmentLosses(), checkerEjection),
		},
		{
			ID: "cursor-told-within-segment", Title: "an append is told its cursor within the segment",
			Origin:    ours + "cursors of a partition ascend in the order of appends",
			Mechanism: "the first segment is full, and the appends to the next one are told cursors that are smaller than those before",
			UnitTest:  "a test that fills two segments sees it",
			Edits: []Edit{{
				File: partitionFolder + "partition.go", Function: "Partition.Append", Original: "return first, told.wait()",
				Replacement: `err = told.wait()
					p.mutex.Lock()
					defer p.mutex.Unlock()
					if a := p.active(); a != nil && a.base <= first {
						first -= a.base
					}
					return first, err`,
			}},
			Scenario: inSegments, Checkers: []string{model.CheckerSegmentOrder},
		},
		{
			ID: "balanced-retry-after-unknown", Title: "a balanced append is tried elsewhere although it may have been stored",
			Origin:    "redpanda#3039, KAFKA-6003: a retry after a lost answer is stored twice",
			Mechanism: "a sync fails, the outcome is unknown, the messages go to another partition, and the first one has them too",
			UnitTest:  "a test with a disk that fails after it has written sees it",
			Edits: []Edit{{
				File: seglogFolder + "append.go", Function: "Store.appendAnywhere", Original: "!errors.Is(refused, ErrEjected)", Result: "bool",
				Replacement: "return refused == nil || errors.Is(refused, ErrClosed)",
			}},
			Scenario: inSegments, Checkers: []string{model.CheckerSegmentContent, model.CheckerSegmentInvented},
		},
		{
			ID: "readmitted-unrestored", Title: "a directory is taken back without a look at its partitions",
			Origin:    ours + "an ejected directory comes back when it works again, and its partitions are settled as after a crash",
			Mechanism: "the directory takes what is written to it, counts as in service, and its partition refuses every append for ever",
			UnitTest:  "a test that appends after readmission sees it",
			Edits: []Edit{{
				File: seglogFolder + "volume.go", Function: "volume.readmit", Original: "m.log.Restore()", Result: "error", Replacement: "return nil",
			}},
			Scenario: inSegments, Checkers: []string{checkerEjection},
		},
	}, segmentTimeDefects()...)
}

// segmentTimeDefects are mistakes with the times of messages.
func segmentTimeDefects() []Defect {
	return []Defect{
		{
			ID: "seek-by-modification", Title: "a look-up by time picks the segment by when its log was last written",
			Origin:    "rocketmq PR 129 (ROCKETMQ-239): the file for a time was chosen by last-modified time",
			Mechanism: "a start copies the newest log, or a producer's clock is behind, and the time of writing says nothing about the messages",
			UnitTest:  "a test with clocks that are right and files that nobody touched does not see it",
			Edits: []Edit{
				{
					File: partitionFolder + "seek.go", Function: "Partition.seek",
					Original:    "if p.config.TimeRule == ByModification {\nlocate = p.locateModified\n}",
					Replacement: "locate = p.locateModified",
				},
				{
					File: partitionFolder + "seek.go", Function: "Partition.seek", Original: "err == io.EOF && p.config.TimeRule == ByModification", Result: "bool",
					Replacement: "return err == io.EOF",
				},
			},
			Scenario: inSegments, Checkers: []string{model.CheckerSegmentTime},
		},
		{
			ID: "recovered-segment-without-time", Title: "a segment that a start has read again says that its newest message has time zero",
			Origin:    "KAFKA-10207: after an unclean stop the time index's last entry read as 0, and retention deleted segments too early",
			Mechanism: "the next look of retention takes the segment for the oldest there is",
			UnitTest:  "a test of retention after a crash sees it",
			Edits: []Edit{
				{File: recoverFile, Function: "Partition.mend", Original: "known.full = true", Replacement: "known.full = true\nknown.newest = 0"},
				{File: recoverFile, Function: "Partition.mend", Original: "known.addTime()", Replacement: "known.addTime()\nknown.newest = 0"},
			},
			Scenario: inSegments, Checkers: []string{model.CheckerSegmentTrimmed, model.CheckerSegmentTime},
		},
		{
			ID: "time-item-names-next", Title: "an item of the time index claims the message behind those that it knows",
			Origin:    "KAFKA-16310, KAFKA-16342: the offset for the largest time was the last of its batch on some paths",
			Mechanism: "a look-up begins one message too late, and passes over the one that it looks for",
			UnitTest:  "a test with an item for each message sees it",
			Edits: []Edit{{
				File: partitionFolder + "segment.go", Function: "segment.addTime", Original: "s.times = append(s.times, pair{uint64(s.newest), int64(s.next)})",
				Replacement: "s.times = append(s.times, pair{uint64(s.newest), int64(s.next) + 1})",
			}},
			Scenario: inSegments, Checkers: []string{model.CheckerSegmentTime},
		},
	}
}

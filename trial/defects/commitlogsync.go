package defects

import "lakebed/model"

// logSyncDefects are mistakes about what is durable, and about saying so.
func logSyncDefects() []Defect {
	return append([]Defect{
		{
			ID: "log-sync-failure-swallowed", Title: "a failed sync of the log is passed over, and its messages are acknowledged",
			Origin:    "rocketmq#2706, #3129, #5235: a failed force was caught, and the flushed position still advanced",
			Mechanism: "the sync fails, its pages count as clean, and a power cut takes what was acknowledged",
			UnitTest:  "a test with a disk that fails sees it",
			Edits: []Edit{{
				File: logGroupFile, Function: "Store.syncLog", Original: "s.log.Sync(from, to)", Result: "error",
				Replacement: "_ = s.log.Sync(from, to)\nreturn nil",
			}},
			Scenario: inCommitLog, Checkers: messageLosses(),
		},
		{
			ID: "log-sync-retried", Title: "a failed sync of the log is tried again, and its success is believed",
			Origin:    "rocketmq#7599 and PostgreSQL fsyncgate (2018): the position stays where it is, and the force is retried",
			Mechanism: "the failed sync marks the pages clean, so the second one succeeds without writing; a power cut takes the acknowledged messages",
			UnitTest:  "nothing: a fake file that fails once also writes the second time",
			Edits: []Edit{{
				File: logGroupFile, Function: "Store.syncLog", Original: "s.log.Sync(from, to)", Result: "error",
				Replacement: "if s.log.Sync(from, to) == nil {\nreturn nil\n}\nreturn s.log.Sync(from, to)",
			}},
			Scenario: inCommitLog, Checkers: messageLosses(),
		},
		{
			ID: "dispatched-before-synced", Title: "messages are dispatched when they are written, before the sync that makes them durable",
			Origin:    "rocketmq#8239: with SYNC flush the dispatcher exposed records that were not flushed yet",
			Mechanism: "a consumer pulls a message while its sync is under way; a power cut takes it, and another one gets its offset",
			UnitTest:  "nothing: needs a pull and a power cut while a sync is under way",
			Edits: []Edit{{
				File: logGroupFile, Function: "Store.commit", Original: "s.written = g.end",
				// A sync of the simulated disk takes less than consumers need to come by: one that is slow does not.
				Replacement: `s.written, s.confirmed = g.end, g.end
					s.confirm.Broadcast()
					s.mutex.Unlock()
					s.tasks.Sleep(20_000_000)
					s.mutex.Lock()`,
			}},
			Scenario: inCommitLog, Checkers: append(messageLosses(), model.CheckerDuplicate),
		},
		{
			ID: "queue-units-not-synced", Title: "a checkpoint counts units of queues that were written and not synced",
			Origin:    "rocketmq#678: the checkpoint's time of the queues runs ahead of what is forced",
			Mechanism: "the checkpoint is durable and the units are not; a power cut takes them, and the start does not make them again",
			UnitTest:  "nothing: needs a power cut",
			Edits: []Edit{{
				File: queueFolder + "flush.go", Function: "Queue.writeFile", Original: "f.Sync()", Result: "error", Replacement: "return nil",
			}},
			Scenario: inCommitLog, Checkers: append(messageLosses(), messageMixUps()...),
		},
		{
			ID: "checkpoint-ahead-of-log", Title: "a checkpoint says that the log is durable as far as it is written",
			Origin:    "rocketmq#678, Apache Kafka's recovery point: a checkpoint never exceeds what has been synced",
			Mechanism: "in a mode that does not sync, units are durable whose messages are not; a power cut leaves queues that are ahead of the log",
			UnitTest:  "nothing: needs a power cut",
			Edits: []Edit{{
				File: commitlogFolder + "checkpointing.go", Function: "Store.checkpoint", Original: "s.syncLog(to)", Result: "error",
				Replacement: "s.mutex.Lock()\ndefer s.mutex.Unlock()\ns.synced = max(s.synced, to)\nreturn nil",
			}},
			Scenario: inCommitLog, Checkers: messageLosses(),
		},
		{
			ID: "checkpoint-shares-sector", Title: "a checkpoint counts messages in whose last sector the next ones will lie",
			Origin:    ours + "no write touches a sector in which durable bytes lie; compare SQLite's powersafe overwrite",
			Mechanism: "in mode never the log does not end a sector when it is synced for a checkpoint; the next append is torn, and spoils what was counted",
			UnitTest:  "nothing: needs a device that spoils whole sectors, and a power cut behind a checkpoint",
			Edits: []Edit{{
				File: commitlogFolder + "seal.go", Function: "Store.seal", Original: "s.sealing = true", Replacement: "return need, nil",
			}},
			Scenario: inCommitLog, Checkers: messageLosses(),
		},
	}, logStopDefects()...)
}

// logStopDefects are mistakes of starts and stops with what they call durable or clean.
func logStopDefects() []Defect {
	return []Defect{
		{
			ID: "recovery-point-not-synced", Title: "a start calls what it has found durable, and does not sync it",
			Origin:    "KAFKA-10101: recovery advanced the recovery point although the recovered segments were not flushed",
			Mechanism: "the process dies, the start reads the log's end out of the page cache and shows it; the next power cut takes it",
			UnitTest:  "nothing: needs a kill, a start, and then a power cut",
			Edits: []Edit{{
				File: logRecoverFile, Function: "Store.cutAndRewrite", Original: "s.log.Sync(synced, next)", Result: "error", Replacement: "return nil",
			}},
			Scenario: inCommitLog, Checkers: messageLosses(),
		},
		{
			ID: "tail-renamed-before-synced", Title: "the copy of the log's end gets its name before its bytes are durable",
			Origin:    "KAFKA-16541: a file was renamed without a sync, and could be empty after a crash",
			Mechanism: "the power goes while a start writes the log's end again; the next start finds a copy that is not whole, and refuses",
			UnitTest:  "nothing: needs a power cut during a start",
			Edits: []Edit{{
				File: commitlogFolder + "tailfile.go", Function: "Store.saveTail", Original: "f.Sync()", Result: "error", Replacement: "return nil",
			}},
			Scenario: inCommitLog, Checkers: []string{checkerRestart, checkerLiveness, model.CheckerLost, model.CheckerVanished},
		},
		{
			ID: "log-file-name-not-durable", Title: "the name of a new log file is not made durable",
			Origin:    "KAFKA-3968: the directory was not fsynced after a segment was created, and a flushed file could vanish",
			Mechanism: "messages are synced into a file whose name a power cut takes back",
			UnitTest:  "nothing: needs a power cut before the next sync of the directory",
			Edits: []Edit{{
				File: logPrepareFile, Function: "Series.finish", Original: "s.dir.SyncDir()", Result: "error", Replacement: "return nil",
			}},
			Scenario: inCommitLog, Checkers: messageLosses(),
		},
		{
			ID: "clean-after-failure", Title: "a store that failed writes a checkpoint of a clean stop",
			Origin:    "KAFKA-13773: a broker that could not load its logs stopped \"cleanly\", and the next start skipped recovery",
			Mechanism: "a write fails, the store stops and says that it stopped cleanly; the next start believes the checkpoint and makes no units of what came later",
			UnitTest:  "a test with a disk that fails, and a start after it, sees it",
			Edits: []Edit{
				{File: commitlogFolder + "store.go", Function: "Store.Close", Original: "s.Failed()", Result: "error", Replacement: "return nil"},
				{File: commitlogFolder + "store.go", Function: "Store.Close", Original: "s.checkpoint(caughtUp)", Result: "error", Replacement: "return s.checkpoint(true)"},
			},
			Scenario: inCommitLog, Checkers: append(messageLosses(), model.CheckerQueue, model.CheckerPlace, model.CheckerDuplicate),
		},
		{
			ID: "clean-mark-kept", Title: "the mark of a clean stop stays while the store runs",
			Origin: "Apache Kafka's LogLoader: the marker of a clean stop is removed as soon as it is read",
			Mechanism: "a store that was stopped cleanly is started, takes messages, and crashes before its first checkpoint; the next start skips recovery " +
				"and writes over them",
			UnitTest: "nothing, unless it crashes a store soon after a clean stop",
			Edits: []Edit{{
				File: logRecoverFile, Function: "Store.recover", Original: "s.checkpoint(false)", Result: "error", Replacement: "return s.checkpoint(c.clean)",
			}},
			Scenario: inCommitLog, Checkers: append(messageLosses(), model.CheckerPlace, model.CheckerDuplicate),
		},
	}
}

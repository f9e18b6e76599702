package defects

import (
	"slices"

	"lakebed/model"
)

// The commit log: its scenario and folders.
const (
	inCommitLog     = "commitlog"
	commitlogFolder = "engine/commitlog/"
	queueFolder     = commitlogFolder + "consumequeue/"
	keysFolder      = commitlogFolder + "keyindex/"
	seriesFolder    = commitlogFolder + "series/"
	logMessageFile  = commitlogFolder + "message/decode.go"
	logRecoverFile  = commitlogFolder + "recover.go"
	logAppendFile   = commitlogFolder + "append.go"
	logGroupFile    = commitlogFolder + "group.go"
	logPullFile     = commitlogFolder + "pull.go"
	logSearchFile   = commitlogFolder + "search.go"
	logCleanFile    = commitlogFolder + "clean.go"
	logTopicsFile   = commitlogFolder + "topics.go"
	logPrepareFile  = seriesFolder + "prepare.go"
)

// messageLosses are the checkers that see an acknowledged message go. A store that notices by itself does not start, or finds
// that log and queues do not agree.
func messageLosses() []string {
	return []string{
		model.CheckerLost, model.CheckerPrefix, model.CheckerVanished, model.CheckerContent, checkerRestart, checkerAgreement, checkerLiveness,
	}
}

// messageMixUps are the checkers that see one message in the place of another.
func messageMixUps() []string {
	return []string{
		model.CheckerForeign, model.CheckerInvented, model.CheckerPlace, model.CheckerContent, model.CheckerDuplicate, model.CheckerQueue,
		checkerAgreement, checkerLiveness,
	}
}

// rottenStoreDefects are mistakes of the two single-node stores with bytes that have gone bad.
func rottenStoreDefects() []Defect {
	return []Defect{
		{
			ID: "log-rot-served", Title: "a commit log answers a message without a look at its checksum",
			Origin:    ours + "what has rotted is told, and never answered; rocketmq's checksum covers the body only",
			Mechanism: "a bit of a body rots, and consumers get it",
			UnitTest:  "a test that flips a byte sees it",
			Edits:     []Edit{{File: logMessageFile, Function: "Decode", Original: "sum != want", Result: "bool", Replacement: "return false"}},
			Scenario:  "commitlog-damage", Checkers: []string{model.CheckerInvented, model.CheckerForeign},
		},
		{
			ID: "segment-rot-served", Title: "a segment log answers a message without a look at its checksum",
			Origin:    ours + "what has rotted is told, and never answered",
			Mechanism: "a bit of a payload rots, and consumers get it",
			UnitTest:  "a test that flips a byte sees it",
			Edits:     []Edit{{File: seglogFolder + "message/record.go", Function: "Decode", Original: "sum != want", Result: "bool", Replacement: "return false"}},
			Scenario:  "segments-damage", Checkers: []string{model.CheckerSegmentInvented, model.CheckerSegmentContent},
		},
		{
			ID: "segment-rot-as-end", Title: "a read that meets rot answers that there are no messages",
			Origin:    ours + "what has rotted is told, and not denied; compare bookkeeper#2908",
			Mechanism: "a message that was acknowledged and shown rots, and consumers are told that the partition ends there",
			UnitTest:  "a test that flips a byte and looks at the class of the answer sees it",
			Edits: []Edit{{
				File: partitionFolder + "read.go", Function: "Batch.collect", Original: "len(b.Entries) > 0 && errors.Is(err, ErrCorrupt)", Result: "bool",
				Replacement: "return errors.Is(err, ErrCorrupt)",
			}},
			Scenario: "segments-damage", Checkers: []string{model.CheckerSegmentLost},
		},
	}
}

// commitlogDefects are mistakes of the commit log.
func commitlogDefects() []Defect {
	return slices.Concat(logRecoveryDefects(), logCutDefects(), logSyncDefects(), logQueueDefects(), logSearchDefects(), logRetentionDefects(), rottenStoreDefects())
}

// logRecoveryDefects are mistakes of a start after a crash.
func logRecoveryDefects() []Defect {
	return []Defect{
		{
			ID: "commitlog-record-unverified", Title: "a record of the log is taken for whole without a look at its checksum",
			Origin:    "rocketmq#467: recovery reported a damaged record as success, and queues missed a slot",
			Mechanism: "a power cut tears the last record and keeps its first sector; the start makes a unit of it, and consumers get bytes that nobody sent",
			UnitTest:  "a test that flips a byte of a record sees it; one that cuts the file short does not",
			Edits:     []Edit{{File: logMessageFile, Function: "Decode", Original: "sum != want", Result: "bool", Replacement: "return false"}},
			Scenario:  inCommitLog, Checkers: messageMixUps(),
		},
		{
			ID: "replay-from-synced", Title: "a start reads the log from where it is durable, and leaves out what had no units there",
			Origin: "rocketmq#467: after an abnormal stop records were left that had not been dispatched",
			Mechanism: "dispatch is behind the sync when the power goes; the messages between have no units, and the next ones of their " +
				"queues take their offsets or are refused",
			UnitTest: "nothing, unless dispatch lags when the store is opened again",
			Edits:    []Edit{{File: logRecoverFile, Function: "Store.replay", Original: "c.dispatched", Result: "int64", Replacement: "return c.synced"}},
			Scenario: inCommitLog, Checkers: append(messageLosses(), model.CheckerQueue),
		},
		{
			ID: "recovery-of-last-file-only", Title: "a start makes units of the messages of the log's last file only",
			Origin:    "rocketmq#7355: recovery looked only at the last file, so that queues that lost their ends were never repaired",
			Mechanism: "the log has rolled since the last checkpoint; messages of the file before have no units, and are lost to consumers",
			UnitTest:  "nothing, unless the log rolls between a checkpoint and a crash",
			Edits: []Edit{{
				File: logRecoverFile, Function: "Store.replay", Original: "c.dispatched", Result: "int64",
				Replacement: "return max(c.dispatched, s.log.Limit()-2*s.config.FileBytes)", // behind it is the one made ahead
			}},
			Scenario: inCommitLog, Checkers: append(messageLosses(), model.CheckerQueue),
		},
		{
			ID: "recovery-passes-over-hole", Title: "a start that meets no record goes on with the next file",
			Origin: "rocketmq#8394: what could not be read was skipped to the end of the mapped region",
			Mechanism: "in a mode that does not sync a power cut takes pages of one file and keeps those of the next; later messages come " +
				"back without earlier ones",
			UnitTest: "nothing: needs a power cut that keeps the younger of two files",
			Edits: []Edit{{
				File: logRecoverFile, Function: "Store.replay", Original: "noRecord(err)", Result: "bool",
				Replacement: `if noRecord(err) && s.log.FileEnd(w.at) < limit {
						w.at = s.log.FileEnd(w.at)
						m, err = w.next()
					}
					return noRecord(err)`,
			}},
			Scenario: inCommitLog, Checkers: messageLosses(),
		},
		{
			ID: "queue-offsets-from-checkpoint", Title: "the next offset of a queue is that of the checkpoint, whatever the log holds behind it",
			Origin:    "rocketmq#6662, #7689: offsets are given out again from a table that was rebuilt to an older point, and two messages share one",
			Mechanism: "messages behind the checkpoint are found again at a start, and the next append to their queue gets an offset that is taken",
			UnitTest:  "a test that appends after a crash sees it",
			Edits: []Edit{{
				File: logRecoverFile, Function: "Store.replayed", Original: "q.next = max(q.next, m.QueueOffset+1)", Replacement: "",
			}},
			Scenario: inCommitLog, Checkers: append(messageMixUps(), model.CheckerLost, checkerWritable),
		},
		{
			ID: "empty-log-refused", Title: "a log of which nothing was dispatched yet is taken for one that lacks its beginning",
			Origin:    "rocketmq#9728: an empty last file leads to an impossible position, and the broker cannot start",
			Mechanism: "the store goes down when its first file is there and no message has a unit; the next start refuses it",
			UnitTest:  "a test that opens an empty store twice sees it",
			Edits: []Edit{{
				File: commitlogFolder + "slots.go", Function: "Store.lastCheckpoint", Original: "c.synced > s.log.Present() || c.dispatched < first", Result: "bool",
				Replacement: "return c.synced > s.log.Present() || c.dispatched <= first",
			}},
			Scenario: inCommitLog, Checkers: []string{checkerRestart},
		},
		{
			ID: "key-index-removed-after-crash", Title: "a start removes the key index that was being filled, and fills it from where dispatch begins",
			Origin:    "rocketmq#3868, #8007: the newest index file is deleted after an abnormal exit although part of it was stored",
			Mechanism: "messages of before the checkpoint are in the file that goes, and are not found by key any more",
			UnitTest:  "a test that asks for a key after a restart sees it",
			Edits: []Edit{{
				File: keysFolder + "index.go", Function: "Open", Original: "x.decodeState(o.State)", Result: "(*open, error)", Replacement: "return nil, nil",
			}},
			Scenario: inCommitLog, Checkers: []string{checkerAgreement},
		},
	}
}

// logCutDefects are mistakes with what lies behind the end of log and queues.
func logCutDefects() []Defect {
	return []Defect{
		{
			ID: "cut-in-memory-only", Title: "the log is cut by moving a position, and the bytes behind stay",
			Origin: "rocketmq#10666: truncation only resets positions, and discarded records are accepted again after the next crash",
			Mechanism: "a power cut spoils a group and keeps later ones; the log is cut before them, a new group ends where an old one begins, and the " +
				"next start takes the old one in behind it",
			UnitTest: "a test that plants a record behind a cut and fills the hole sees it",
			Edits: []Edit{{
				File: seriesFolder + "remove.go", Function: "Series.Cut", Original: "f.Truncate(end - f.base)", Result: "error", Replacement: "return nil",
			}},
			Scenario: "commitlog-tears", Checkers: append(messageLosses(), messageMixUps()...),
		},
		{
			ID: "queue-ahead-believed", Title: "a start believes the units that lie in a queue's file behind those that count",
			Origin: "rocketmq#495: stale entries beyond the write position were used, and queues pointed to the wrong records",
			Mechanism: "a crash comes between a queue's sync and the checkpoint; the units behind its count stand for messages that the log lost, or that " +
				"are read again",
			UnitTest: "a test that leaves units behind a queue's count sees it",
			Edits: []Edit{{
				File: logTopicsFile, Function: "Store.makeQueue", Original: "topicDir.Sub(strconv.Itoa(int(id)))", Result: "(host.Dir, error)",
				Replacement: `d, err := topicDir.Sub(strconv.Itoa(int(id)))
					if err != nil {
						return d, err
					}
					infos, err := d.List()
					for _, info := range infos {
						base, _ := strconv.ParseInt(info.Name, 10, 64)
						if n := (base + info.Size) / consumequeue.UnitBytes; n > state.Next() {
							state.Count, state.Rest = n, nil
						}
					}
					return d, err`,
			}},
			Scenario: inCommitLog, Checkers: append(messageMixUps(), messageLosses()...),
		},
		{
			ID: "former-life-accepted", Title: "a record is taken in although it says that it lies elsewhere",
			Origin:    ours + "a recycled file is full of records of its former life",
			Mechanism: "a file is used again, a crash leaves its end unwritten, and the start goes on into whole records that were written there long ago",
			UnitTest:  "a test that decodes a record at another offset sees it",
			Edits: []Edit{{
				File: logMessageFile, Function: "parse", Original: "m.PhysicalOffset != physical", Result: "bool", Replacement: "return false",
			}},
			Scenario: inCommitLog, Checkers: append(messageMixUps(), checkerRestart),
		},
		{
			ID: "group-shares-sector", Title: "a group of the log begins in the sector in which the one before it ends",
			Origin:    "simulation facts 3.2: a write that is torn may spoil the whole of a sector, also what was durable there",
			Mechanism: "the power goes while a group is written, and the acknowledged messages before it in its first sector are gone",
			UnitTest:  "nothing: needs a torn sector",
			Edits: []Edit{{
				File: logGroupFile, Function: "Store.padded", Original: "end%s.config.SectorBytes == 0", Result: "bool", Replacement: "return true",
			}},
			Scenario: "commitlog-tears", Checkers: messageLosses(),
		},
	}
}

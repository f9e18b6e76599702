package defects

import "lakebed/model"

// logQueueDefects are mistakes on the way from the log to queues and consumers.
func logQueueDefects() []Defect {
	return append([]Defect{
		{
			ID: "dispatch-skips-unreadable", Title: "what cannot be read while units are made is passed over",
			Origin:    "rocketmq#8394: the dispatcher met an unreadable region, logged it and skipped to its end",
			Mechanism: "a read fails once, and the messages that were to be read get no units",
			UnitTest:  "a test with a disk that fails a read sees it",
			Edits: []Edit{{
				File: commitlogFolder + "dispatch.go", Function: "Store.dispatchBatch", Original: "w.next()", Result: "(message.Message, error)",
				Replacement: `m, err := w.next()
					if err != nil && err != errWalked {
						w.at, err = w.limit, errWalked
					}
					return m, err`,
			}},
			Scenario: inCommitLog, Checkers: append(messageLosses(), model.CheckerQueue, model.CheckerVisible, checkerWritable),
		},
		{
			ID: "offset-taken-by-refused", Title: "a message that is refused keeps its queue offset",
			Origin:    "rocketmq#6570: a message rejected after its queue offset was taken leaves a hole",
			Mechanism: "a file cannot be made on a full disk, the message is refused, and the next one of its queue gets an offset that does not follow",
			UnitTest:  "a test that appends after a refusal sees it",
			Edits: []Edit{{
				File: logAppendFile, Function: "Store.place", Original: "s.h.Probe().Mark(host.Event{Name: PointRefused, A: at})", Replacement: "q.next++",
			}},
			Scenario: inCommitLog, Checkers: append(messageLosses(), model.CheckerQueue, checkerWritable),
		},
		{
			ID: "topic-made-twice", Title: "two messages that are the first of their topic make it twice",
			Origin: "KAFKA-9156, alibaba/rocketmq#419: two objects for one file, made by tasks that race",
			Mechanism: "two producers find no topic, both make its queues, one of them gives out offsets in queues that nobody knows, and the other gives them " +
				"out again",
			UnitTest: "nothing: needs two appends at the same time",
			Edits: []Edit{{
				File: logTopicsFile, Function: "Store.ensure", Original: "s.creating.Lock()\ndefer s.creating.Unlock()", Replacement: "",
			}},
			Scenario: inCommitLog, Checkers: append(messageMixUps(), model.CheckerLost, checkerWorld),
		},
		{
			ID: "acknowledged-before-dispatch", Title: "a message is acknowledged before consumers can see it, although the settings say otherwise",
			Origin:    ours + "with AckAfterDispatch a message can be pulled when its append returns",
			Mechanism: "dispatch lags, and a pull that comes after the acknowledgement does not see the message",
			UnitTest:  "a test that pulls at once sees it now and then",
			Edits: []Edit{{
				File: logAppendFile, Function: "Store.Append", Original: "s.config.AckAfterDispatch", Result: "bool", Replacement: "return false",
			}},
			Scenario: inCommitLog, Checkers: []string{model.CheckerVisible},
		},
		{
			ID: "pull-buffer-reused", Title: "the messages of one answer share a buffer that later reads of it overwrite",
			Origin:    ours + "no message is answered under a wrong topic, queue or tag",
			Mechanism: "the messages of an answer lie apart in the log, each is read into the same bytes, and earlier ones turn into later ones of other queues",
			UnitTest:  "a test that pulls messages with others between them sees it",
			Edits: []Edit{{
				File: commitlogFolder + "window.go", Function: "window.read", Original: "w.buffer, w.from = make([]byte, length), off",
				Replacement: `if int64(cap(w.buffer)) < length {
						w.buffer = make([]byte, length)
					}
					w.buffer, w.from = w.buffer[:length], off`,
			}},
			Scenario: inCommitLog, Checkers: []string{model.CheckerForeign, model.CheckerInvented},
		},
		{
			ID: "pull-passes-over-large", Title: "a message that does not fit into an answer any more is passed over, and smaller ones behind it are given",
			Origin:    ours + "the messages of an answer follow each other without a hole",
			Mechanism: "an answer is almost full, the next message is too large for it, and the one after that is not",
			UnitTest:  "a test with messages of different sizes and a small bound sees it",
			Edits: []Edit{{
				File: logPullFile, Function: "Store.collect", Original: "len(hashes) == 0 || slices.Contains(hashes, u.Tag)", Result: "bool",
				Replacement: "return (len(hashes) == 0 || slices.Contains(hashes, u.Tag)) && (len(result.Messages) == 0 || bytes >= int64(u.Size))",
			}},
			Scenario: inCommitLog, Checkers: []string{model.CheckerQueue, model.CheckerLeftOut},
		},
		{
			ID: "filtered-pull-jumps", Title: "a pull by tag that found nothing goes on at the end of the queue, though it has not looked so far",
			Origin:    ours + "a pull by tag gives every message with the tag before the offset at which it goes on",
			Mechanism: "a pull looks at as many units as it may and finds no tag; those behind are never looked at",
			UnitTest:  "a test with more messages than one pull looks at sees it",
			Edits: []Edit{{
				File: logPullFile, Function: "Store.collect", Original: "result.Status = NoMatchedMessage",
				Replacement: "result.Status = NoMatchedMessage\nif len(result.Messages) == 0 {\nresult.Next = result.Max\n}",
			}},
			Scenario: inCommitLog, Checkers: []string{model.CheckerLeftOut},
		},
	}, logOrderDefects()...)
}

// logOrderDefects are mistakes with the order of what is stored.
func logOrderDefects() []Defect {
	return []Defect{{
		ID: "queue-turn-by-client", Title: "an append that names its queue goes to the one whose turn it is",
		Origin:    ours + "a message is stored in the queue that it names, and nowhere else",
		Mechanism: "the queue that a producer names is taken for a wish; consumers of it get nothing, and those of another get messages that are not theirs",
		UnitTest:  "a test that pulls from the queue that it named sees it",
		Edits: []Edit{{
			File: logAppendFile, Function: "topic.choose", Original: "m.Queue == AnyQueue", Result: "bool", Replacement: "return m.Queue >= 0 || m.Queue == AnyQueue",
		}},
		Scenario: inCommitLog, Checkers: []string{model.CheckerForeign},
	}}
}

// logSearchDefects are mistakes of searches by time.
func logSearchDefects() []Defect {
	return []Defect{
		{
			ID: "time-search-equal-times", Title: "a search by time forgets that several messages may have one time",
			Origin:    "rocketmq#4890: time search ignored that several messages share a millisecond",
			Mechanism: "a message has just the time that is looked for, and the search goes on behind it",
			UnitTest:  "a test that looks for the time of a message sees it",
			Edits: []Edit{{
				File: logSearchFile, Function: "Store.searchTime", Original: "m.StoreTimestamp < millis || b == Upper && m.StoreTimestamp == millis", Result: "bool",
				Replacement: "return m.StoreTimestamp <= millis",
			}},
			Scenario: inCommitLog, Checkers: []string{model.CheckerTime},
		},
		{
			ID: "time-search-before-end", Title: "a search for a time behind the last message answers the last message",
			Origin:    "rocketmq#2661, #4070, #8736: a time past the last message returned the second-last, the minimum or -1",
			Mechanism: "a consumer looks for now, and gets a message that it has seen",
			UnitTest:  "a test of the boundary sees it",
			Edits: []Edit{{
				File: logSearchFile, Function: "Store.searchTime", Original: "return from, nil", Replacement: "return max(min(from, high-1), low), nil",
			}},
			Scenario: inCommitLog, Checkers: []string{model.CheckerTime},
		},
		{
			ID: "stored-times-fall", Title: "the store timestamps of messages follow the clock also when it is set back",
			Origin: "KAFKA-19407: a time that is not monotonic gets into what searches by time rely on",
			Mechanism: "the clock jumps back, later messages have earlier times, and a search that halves the queue goes past the one it looks for. " +
				"Store timestamps must not fall within a queue",
			UnitTest: "nothing, unless it sets the clock back between two appends",
			Edits: []Edit{{
				File: logAppendFile, Function: "Store.encode", Original: "s.stored = max(s.stored, s.wallMillis())",
				Replacement: "s.stored = s.wallMillis()",
			}},
			Scenario: inCommitLog, Checkers: []string{model.CheckerTime},
		},
	}
}

// logRetentionDefects are mistakes with old files and full disks.
func logRetentionDefects() []Defect {
	return []Defect{
		{
			ID: "expired-queue-keeps-first", Title: "a queue whose messages are all gone begins where it began",
			Origin:    "rocketmq#8753: when all files of a queue expire its min offset is not moved",
			Mechanism: "a topic rests until its last message is removed; consumers are told to go on at an offset that is gone, again and again",
			UnitTest:  "a test that removes all messages of one topic sees it",
			Edits: []Edit{
				{
					File: logPullFile, Function: "Store.bounds", Original: "q.units.MoveFirst(low)",
					Replacement: "if low < high {\nq.units.MoveFirst(low)\n} else {\nlow, _ = q.units.Bounds()\n}",
				},
				{
					File: logPullFile, Function: "Store.get", Original: "errors.Is(err, series.ErrGone)", Result: "bool",
					Replacement: "if errors.Is(err, series.ErrGone) {\nresult.Status, result.Next, err = OffsetTooSmall, low, nil\n}\nreturn false",
				},
			},
			Scenario: inCommitLog, Checkers: []string{checkerAgreement},
		},
		{
			ID: "file-removed-before-units", Title: "retention removes a file whose messages have no durable units",
			Origin:    ours + "a file goes only when a checkpoint covers all of it",
			Mechanism: "messages expire while dispatch or checkpoint lag, their file goes, and the next start lacks the beginning of what it has to read",
			UnitTest:  "a test that removes while dispatch stands still sees it",
			Edits: []Edit{{
				File: logCleanFile, Function: "Store.removable", Original: "s.covered > next", Result: "bool", Replacement: "return true",
			}},
			Scenario: inCommitLog, Checkers: []string{checkerRestart},
		},
		{
			ID: "age-of-oldest-message", Title: "a file expires by the age of its first message",
			Origin:    ours + "retention removes nothing that is younger than its age; KAFKA-10207 and rocketmq 239 picked a wrong time for a file, too",
			Mechanism: "the first message of a file is too old, the last one is not, and both go",
			UnitTest:  "a test with young messages in an old file sees it",
			Edits: []Edit{{
				File: logCleanFile, Function: "Store.removable", Original: "s.log.ReadAt(head, next)", Result: "error", Replacement: "return s.log.ReadAt(head, first)",
			}},
			Scenario: inCommitLog, Checkers: []string{model.CheckerTrimmed},
		},
		{
			ID: "files-never-expire", Title: "a file is looked at only when the disk is getting full",
			Origin:    ours + "what is older than the period goes",
			Mechanism: "the hours of deletion are not asked, and nothing goes from a roomy disk",
			UnitTest:  "a test of retention sees it",
			Edits: []Edit{{
				File: logCleanFile, Function: "Store.removable", Original: "full == roomy && !slices.Contains(s.config.Retention.DeleteHours, s.hour())", Result: "bool",
				Replacement: "return full == roomy",
			}},
			Scenario: inCommitLog, Checkers: []string{checkerRetention},
		},
		{
			ID: "disk-full-for-good", Title: "a disk that was too full once counts as full for ever",
			Origin:    "rocketmq#2398: during disk-full an error flag was set that is never cleared",
			Mechanism: "messages fill the disk, appends are refused, old files go, and appends are refused still",
			UnitTest:  "a test that makes room and appends again sees it",
			Edits: []Edit{{
				File: logCleanFile, Function: "Store.lookAtSpace", Original: "s.diskFull = used > r.DiskWarning", Replacement: "s.diskFull = s.diskFull || used > r.DiskWarning",
			}},
			Scenario: inCommitLog, Checkers: []string{checkerWritable},
		},
		{
			ID: "file-preparation-gives-up", Title: "a log file that could not be made is not tried again",
			Origin:    "rocketmq#2398, #7539: after a failure of making files the broker stays unwritable when the disk is well again",
			Mechanism: "making a file fails, the task ends, and from the end of the last file on every append is refused",
			UnitTest:  "a test with a disk that is full for a while sees it",
			Edits: []Edit{{
				File: logPrepareFile, Function: "Series.prepare", Original: "!s.tasks.Sleep(s.config.RetryPause)", Result: "bool", Replacement: "return true",
			}},
			Scenario: "commitlog-full", Checkers: []string{checkerWritable},
		},
	}
}

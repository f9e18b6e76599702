package trial

import (
	"slices"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/lastmark"
	"lakebed/engine/bookkeeper/bookie/ledgertable"
	"lakebed/engine/host"
	"lakebed/model"
)

// MarkEndedByItself is hit when a bookie stopped or failed to start because of an error that it met.
const MarkEndedByItself = "trial.ended-by-itself"

// RequiredMarks names the rare states that a campaign exists for: one that was not reached proves less than it seems.
func RequiredMarks() []string {
	points := []host.Point{
		journal.PointGroupWritten, journal.PointGroupSynced, journal.PointRolled, journal.PointPrepared, journal.PointTrimmed,
		journal.PointReplayedGroup, journal.PointRecycled, journal.PointTornTail, journal.PointUndecided, journal.PointSyncFailed,
		entrylog.PointClosed, entrylog.PointAbandoned, entrylog.PointRemoved, entrylog.PointReadAhead,
		entrylog.PointRescanned, entrylog.PointOrphan, entrylog.PointOverlap,
		ledgertable.PointSnapshot, lastmark.PointWritten,
		bookie.PointSlowed, bookie.PointCacheFull, bookie.PointFenceDurable, bookie.PointRefusedFenced,
		bookie.PointRefusedLimbo, bookie.PointUnknown, bookie.PointRangeHole, bookie.PointDeleted, bookie.PointRefusedDeleted,
		bookie.PointSwapped, bookie.PointSwappedReaders, bookie.PointFenceInFlush, bookie.PointCheckpointRetry,
		bookie.PointReplayFlush, bookie.PointLimbo, bookie.PointFailed, bookie.PointClosed,
		bookie.PointScrubPassed, bookie.PointScrubFound, bookie.PointScrubUnreadable, bookie.PointScrubYielded,
	}
	names := []string{MarkEndedByItself, MarkReplayCut}
	for _, p := range slices.Concat(points, clusterMarks(), segmentsMarks(), messageMarks(), remoteMessageMarks(), storageQuestions(), serverQuestions(),
		clientQuestions(), segmentsQuestions(), messageQuestions()) {
		names = append(names, string(p))
	}
	return append(names, rareMarks()...)
}

// MarkReplayCut is hit when a bookie is crashed while it starts.
const MarkReplayCut = "trial.crashed-during-start"

// MarkRefused is hit when a bookie refuses its directories.
const MarkRefused = "trial.refused"

// counts says how often each state was reached.
func counts(m *model.Marks) map[string]int64 {
	all := make(map[string]int64)
	for _, name := range m.Names() {
		all[name] = int64(m.Count(name))
	}
	return all
}

package trial

import (
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/client/pool"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/trial/oracle"
)

// clusterMarks are the rare states of single nodes that a campaign with clusters exists for.
func clusterMarks() []host.Point {
	return append(oracle.Points(),
		client.PointEnsembleChanged, client.PointRecoveryEnsemble, client.PointResent, client.PointFenced, client.PointWindowFull,
		client.PointRecoveryStarted, client.PointRecoveryLostRace, client.PointRecoveryReadd, client.PointAllUnknown,
		client.PointCASUnknown, client.PointCASConflict, client.PointReadFailover,
		client.PointBatchShort, client.PointBatchPaused, client.PointSpeculativeRead,
		pool.PointDialFailed, pool.PointReplaced, pool.PointRefused, pool.PointSuspected, pool.PointLent, pool.PointStalled,
		metadata.PointReregistered, metadata.PointRegisteredLate, metadata.PointOldRegistered,
		metadata.PointCreateSettled, metadata.PointCreateGivenUp, metadata.PointDeleteSettled,
		service.PointNewSession, service.PointLost,
		node.PointStoreAwaited, node.PointCookieResumed, node.PointCookieRefused, node.PointDoubtSettled,
	)
}

// rareMarks are those of the cluster as a whole.
func rareMarks() []string {
	return []string{
		MarkRecoveriesRaced, MarkFencedUnacked, MarkAckedInRecovery, MarkTailRecovered, MarkClosedUnderWriter, MarkClosedEmpty,
		MarkWriteSetRestarted, MarkEnsembleChangedTwice, MarkWipedRefused, MarkCoreOnly,
	}
}

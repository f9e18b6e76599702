package protocol

// OnBookieFailure says what a writer does when a bookie of its ensemble fails.
type OnBookieFailure uint8

const (
	// NewFragment replaces the bookie and goes on in the same ledger.
	NewFragment OnBookieFailure = iota
	// NewLedger ends the writer; its owner closes the ledger and opens another.
	NewLedger
)

// LACRule says when an entry counts as acknowledged.
type LACRule uint8

const (
	// InOrder: when it and all before it have reached their ack quorum. The right rule.
	InOrder LACRule = iota
	// ContiguousWatermarks and HighestWatermarks are one source's rule, here so that an experiment can refute it: take for
	// each bookie of the ensemble the last entry up to which it has everything, or the highest it has; sort; the
	// (E−Qa)th value is the LAC. The first reading stands still, the second loses acknowledged entries.
	ContiguousWatermarks
	HighestWatermarks
)

// WriterOptions are a writer's settings. The zero value is safe: zero bounds stand for the defaults.
type WriterOptions struct {
	// WindowMax bounds the entries that are not yet acknowledged. Default 1024.
	WindowMax int
	// EnsembleChangesMax bounds the changes in a writer's life (maxAllowedEnsembleChanges). Default 1024.
	EnsembleChangesMax int
	// AttemptsMax bounds the metadata calls for one purpose. Default 16.
	AttemptsMax int
	// RetryReplacementAfter: a bookie that failed and could not be replaced is asked to be replaced again after so many
	// more failures, and after twice as many each time that this did not help, up to 64 times as many. Default 64.
	RetryReplacementAfter int
	// RoundsMax bounds how often bookies that failed are tried anew without an acknowledgement in between, before an entry
	// that cannot reach its ack quorum ends the writer. Default 5.
	RoundsMax int
	// DelayEnsembleChange leaves failed bookies in the ensemble until an entry's ack quorum is in danger
	// (delayEnsembleChange).
	DelayEnsembleChange bool
	OnBookieFailure     OnBookieFailure

	// LACRule other than InOrder is an experiment's arm.
	LACRule LACRule
	// AckBeforeMetadata is an experiment's arm and loses data: entries on new bookies count before the metadata name them
	// (bookkeeper#1591).
	AckBeforeMetadata bool
}

// RecoveryOptions are a recovery's settings. The zero value is safe: zero bounds stand for the defaults.
type RecoveryOptions struct {
	// ReadsMax bounds the entries that are read ahead in parallel (recoveryReadBatchSize). Default 8.
	ReadsMax int
	// AttemptsMax bounds the metadata calls for one purpose. Default 16.
	AttemptsMax int
	// RestartsMax bounds how often a recovery begins again since the metadata changed under it. Default 4.
	RestartsMax int
	// EnsembleChangesMax bounds replacements while entries are written again. Default 1024.
	EnsembleChangesMax int

	// ReadsDoNotFence is an experiment's arm and loses data (bookkeeper#2614).
	ReadsDoNotFence bool
	// NoLowerBound is an experiment's arm: the last fragment's start says nothing about the LAC (bookkeeper#2615).
	NoLowerBound bool
}

// orDefault gives a bound its default.
func orDefault(bound *int, value int) {
	if *bound <= 0 {
		*bound = value
	}
}

func (o WriterOptions) withDefaults() WriterOptions {
	orDefault(&o.WindowMax, 1024)
	orDefault(&o.EnsembleChangesMax, 1024)
	orDefault(&o.AttemptsMax, 16)
	orDefault(&o.RetryReplacementAfter, 64)
	orDefault(&o.RoundsMax, 5)
	return o
}

func (o RecoveryOptions) withDefaults() RecoveryOptions {
	orDefault(&o.ReadsMax, 8)
	orDefault(&o.AttemptsMax, 16)
	orDefault(&o.RestartsMax, 4)
	orDefault(&o.EnsembleChangesMax, 1024)
	return o
}

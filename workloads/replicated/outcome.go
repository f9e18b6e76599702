package replicated

import (
	"errors"

	"lakebed/engine/bookkeeper/client"
	"lakebed/model"
)

// outcomeOf translates an error of the client into what the history says. Failed means that it was not done and never
// will be; whatever is not known to be that is unknown.
func outcomeOf(kind model.ClusterKind, err error) model.Outcome {
	switch kind {
	case model.LedgerRead, model.LedgerBatchRead:
		return readOutcome(err)
	case model.LedgerConfirmed:
		return confirmedOutcome(err)
	case model.LedgerAppend:
		return appendOutcome(err)
	}
	switch {
	case err == nil:
		return model.OK
	case errors.Is(err, client.ErrOutcomeUnknown):
		return model.Unknown
	case errors.Is(err, client.ErrNoSuchLedger) && kind != model.LedgerCreate:
		return model.NoLedger
	case kind == model.LedgerClose && errors.Is(err, client.ErrFenced):
		return model.Fenced
	case kind == model.LedgerCreate && notTried(err):
		return model.Failed
	case kind == model.LedgerCreate:
		return model.Unknown
	default:
		return model.Error
	}
}

// notTried reports whether an error says that nothing was sent to anybody.
func notTried(err error) bool {
	return errors.Is(err, client.ErrNotEnoughBookies) || errors.Is(err, client.ErrInvalid) || errors.Is(err, client.ErrUnavailable) ||
		errors.Is(err, client.ErrClientClosed)
}

func appendOutcome(err error) model.Outcome {
	switch {
	case err == nil:
		return model.OK
	case errors.Is(err, client.ErrOutcomeUnknown) && errors.Is(err, client.ErrFenced):
		return model.Fenced
	case errors.Is(err, client.ErrOutcomeUnknown):
		return model.Unknown
	default:
		return model.Failed
	}
}

func readOutcome(err error) model.Outcome {
	switch {
	case err == nil:
		return model.Found
	case errors.Is(err, client.ErrNoSuchEntry):
		return model.NoEntry
	case errors.Is(err, client.ErrNoSuchLedger):
		return model.NoLedger
	default:
		return model.Error
	}
}

func confirmedOutcome(err error) model.Outcome {
	switch {
	case err == nil:
		return model.OK
	case errors.Is(err, client.ErrNoSuchLedger):
		return model.NoLedger
	default:
		return model.Error
	}
}

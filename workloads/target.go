package workloads

import (
	"errors"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/model"
)

// masterKey is every ledger's key in these workloads.
func masterKey() ledger.MasterKey { return ledger.MasterKey{0x4c, 0x61, 0x6b, 0x65} }

// outcomeOf translates an error of the store into what the history says.
func outcomeOf(kind model.Kind, err error) model.Outcome {
	if err == nil {
		switch kind {
		case model.Read, model.ReadRange, model.LastEntry:
			return model.Found
		}
		return model.OK
	}
	return failureOf(kind, err)
}

func failureOf(kind model.Kind, err error) model.Outcome {
	reads := kind == model.Read || kind == model.ReadRange || kind == model.LastEntry
	switch {
	case errors.Is(err, bookie.ErrOutcomeUnknown):
		return model.Unknown
	case errors.Is(err, bookie.ErrNoEntry):
		return model.NoEntry
	case errors.Is(err, bookie.ErrNoLedger) && kind == model.Fence:
		return model.Failed
	case errors.Is(err, bookie.ErrNoLedger):
		return model.NoLedger
	case errors.Is(err, bookie.ErrFenced):
		return model.Fenced
	case errors.Is(err, bookie.ErrUnknown) && kind != model.List:
		return model.Limbo
	case errors.Is(err, bookie.ErrUnauthorized):
		return model.Unauthorized
	case reads || kind == model.List:
		return model.Error
	case errors.Is(err, host.ErrNoSpace) && kind == model.Add:
		return model.NoSpace
	case errors.Is(err, bookie.ErrStopped):
		return model.Failed
	default:
		return model.Unknown
	}
}

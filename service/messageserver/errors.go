package messageserver

import (
	"lakebed/engine/commitlog"
	"lakebed/engine/host"
	"lakebed/service/wire"
)

// classified gives an error of the store its class.
func classified(err error) error { return wire.Classified(err, meanings()) }

// meanings are the classes of a store's errors. Of several that an error is, the first counts: above all whether something may have been stored.
func meanings() []wire.Meaning {
	return []wire.Meaning{
		{Sentinel: commitlog.ErrOutcomeUnknown, Class: wire.OutcomeUnknown},
		{Sentinel: commitlog.ErrNoQueue, Class: wire.NotFound},
		{Sentinel: commitlog.ErrIllegal, Class: wire.Invalid, Brief: true}, // of a topic its words are not even true
		{Sentinel: commitlog.ErrNoIndex, Class: wire.Invalid},
		{Sentinel: commitlog.ErrFailed, Class: wire.Failed},
		{Sentinel: commitlog.ErrStopped, Class: wire.Stopping},
		{Sentinel: host.ErrStopping, Class: wire.Stopping},
		{Sentinel: host.ErrNoSpace, Class: wire.NoSpace},
		{Sentinel: commitlog.ErrCorrupt, Class: wire.Corrupt},
	}
}

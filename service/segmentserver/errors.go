package segmentserver

import (
	"lakebed/engine/host"
	"lakebed/engine/seglog"
	"lakebed/service/wire"
)

// classified gives an error of the store its class.
func classified(err error) error { return wire.Classified(err, meanings()) }

// meanings are the classes of a store's errors. Of several that an error is, the first counts: above all whether something may have been stored.
func meanings() []wire.Meaning {
	return []wire.Meaning{
		{Sentinel: seglog.ErrOutcomeUnknown, Class: wire.OutcomeUnknown},
		{Sentinel: seglog.ErrNoTopic, Class: wire.NotFound},
		{Sentinel: seglog.ErrNoPartition, Class: wire.NotFound},
		{Sentinel: seglog.ErrTopicExists, Class: wire.Exists},
		{Sentinel: seglog.ErrTooLarge, Class: wire.TooLarge},
		{Sentinel: seglog.ErrInvalid, Class: wire.Invalid, Brief: true},
		{Sentinel: seglog.ErrMalformed, Class: wire.Invalid},
		{Sentinel: seglog.ErrTrimmed, Class: wire.Trimmed},
		{Sentinel: seglog.ErrBeyond, Class: wire.Beyond},
		{Sentinel: seglog.ErrClosed, Class: wire.Stopping},
		{Sentinel: host.ErrStopping, Class: wire.Stopping},
		{Sentinel: seglog.ErrUnavailable, Class: wire.Unavailable}, // a read, perhaps of what there is no room to settle
		{Sentinel: host.ErrNoSpace, Class: wire.NoSpace},
		{Sentinel: seglog.ErrEjected, Class: wire.Unavailable},
		{Sentinel: seglog.ErrNoDirectory, Class: wire.Unavailable},
		{Sentinel: seglog.ErrCorrupt, Class: wire.Corrupt},
	}
}

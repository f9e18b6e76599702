package segmentserver

import (
	"errors"
	"strings"

	"lakebed/engine/host"
	"lakebed/engine/seglog"
	"lakebed/service/wire"
)

// classified gives an error of the store its class. Of several that it is, the first in the table counts: above all whether
// something may have been stored.
func classified(err error) error {
	if err == nil {
		return nil
	}
	var p *wire.Problem
	if errors.As(err, &p) {
		return err
	}
	for _, known := range []struct {
		sentinel error
		class    wire.Class
	}{
		{seglog.ErrOutcomeUnknown, wire.OutcomeUnknown},
		{seglog.ErrNoTopic, wire.NotFound},
		{seglog.ErrNoPartition, wire.NotFound},
		{seglog.ErrTopicExists, wire.Exists},
		{seglog.ErrTooLarge, wire.TooLarge},
		{seglog.ErrInvalid, wire.Invalid},
		{seglog.ErrMalformed, wire.Invalid},
		{seglog.ErrTrimmed, wire.Trimmed},
		{seglog.ErrBeyond, wire.Beyond},
		{seglog.ErrClosed, wire.Stopping},
		{host.ErrStopping, wire.Stopping},
		{seglog.ErrUnavailable, wire.Unavailable}, // a read, perhaps of what there is no room to settle
		{host.ErrNoSpace, wire.NoSpace},
		{seglog.ErrEjected, wire.Unavailable},
		{seglog.ErrNoDirectory, wire.Unavailable},
		{seglog.ErrCorrupt, wire.Corrupt},
	} {
		if errors.Is(err, known.sentinel) {
			p := wire.NewProblem(known.class, err)
			if known.sentinel == seglog.ErrInvalid { // which the class says
				p.Detail = strings.TrimSuffix(p.Detail, ": "+seglog.ErrInvalid.Error())
			}
			return p
		}
	}
	return wire.NewProblem(wire.Internal, err)
}

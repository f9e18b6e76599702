package messageserver

import (
	"errors"
	"strings"

	"lakebed/engine/commitlog"
	"lakebed/engine/host"
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
		{commitlog.ErrOutcomeUnknown, wire.OutcomeUnknown},
		{commitlog.ErrNoQueue, wire.NotFound},
		{commitlog.ErrIllegal, wire.Invalid},
		{commitlog.ErrNoIndex, wire.Invalid},
		{commitlog.ErrFailed, wire.Failed},
		{commitlog.ErrStopped, wire.Stopping},
		{host.ErrStopping, wire.Stopping},
		{host.ErrNoSpace, wire.NoSpace},
		{commitlog.ErrCorrupt, wire.Corrupt},
	} {
		if errors.Is(err, known.sentinel) {
			p := wire.NewProblem(known.class, err)
			if known.sentinel == commitlog.ErrIllegal { // which the class says, and of a topic it is not even true
				p.Detail = strings.TrimSuffix(p.Detail, ": "+commitlog.ErrIllegal.Error())
			}
			return p
		}
	}
	return wire.NewProblem(wire.Internal, err)
}

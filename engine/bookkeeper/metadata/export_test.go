package metadata

import (
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// TakeID takes an id as Create does, without the check that a creation then is.
func (l *Ledgers) TakeID(s *host.Scope) (ledger.ID, error) { return l.ids.take(s) }

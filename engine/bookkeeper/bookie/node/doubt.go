package node

import (
	"errors"
	"fmt"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

var errManyLedgers = errors.New("the metadata name more ledgers than may go into limbo")

// settleDoubt is the task that ends the storage's doubt. It asks until the metadata store answers.
func (n *node) settleDoubt() {
	pause := n.config.Retry.PauseMin
	for failures := int64(0); ; failures++ {
		ids, err := n.listLedgers()
		if err == nil {
			if err = n.store.SettleDoubt(ids); err == nil {
				n.h.Probe().Mark(host.Event{Name: PointDoubtSettled, A: int64(len(ids)), B: failures, Extra: string(n.id)})
				n.h.Log(host.Note, "bookie has ended its doubt", host.F("bookie", n.id), host.F("ledgers in limbo", len(ids)))
			}
			return // or the storage has stopped, which Run reports
		}
		if n.doubts.Stopping() {
			return
		}
		if errors.Is(err, errManyLedgers) {
			n.h.Probe().Mark(host.Event{Name: PointDoubtStays, Extra: string(n.id)})
			n.h.Log(host.Error, "bookie stays in doubt", host.F("bookie", n.id), host.F("error", err))
			return
		}
		if failures == 0 {
			n.h.Log(host.Warn, "bookie in doubt waits for the metadata store", host.F("bookie", n.id), host.F("error", err))
		}
		n.doubts.Sleep(pause)
		pause = min(2*pause, n.config.Retry.PauseMax)
	}
}

// listLedgers returns the ids of all ledgers that were there when it was called, and are still. Walk sees to it that none
// of them is left out, however stale the store's answers are: it would count as one that never was here. So would every ledger if the store had been emptied: the cluster's identity
// is looked at afterwards, since it does not come back.
func (n *node) listLedgers() ([]ledger.ID, error) {
	var ids []ledger.ID
	s := host.Within(n.h, n.doubts, n.config.SettleTimeout)
	err := n.ledgers.Walk(s, func(id ledger.ID) error {
		if len(ids) == n.config.LimboLedgersMax {
			return fmt.Errorf("%w: %d", errManyLedgers, n.config.LimboLedgersMax)
		}
		ids = append(ids, id)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := metadata.CheckInstanceID(n.metadata, n.config.Registration.Layout, n.cluster, s); err != nil {
		return nil, fmt.Errorf("whose ledgers were listed: %w", err)
	}
	return ids, nil
}

// newLedgers makes what lists the metadata for settleDoubt.
func (n *node) newLedgers() *metadata.Ledgers {
	c := metadata.DefaultLedgersConfig()
	c.Name, c.Layout, c.Retry = "bookie", n.config.Registration.Layout, n.config.Retry
	return metadata.NewLedgers(n.h, n.doubts, n.metadata, c)
}

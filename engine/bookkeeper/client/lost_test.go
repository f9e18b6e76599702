package client_test

import (
	"errors"
	"testing"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/sim"
)

// TestARecoverySaysWhetherTheLastEntryIsLostOrDamaged: what the copies say is confirmed is nowhere, or there is only a
// damaged copy of it. A caller can tell the two apart, by the same classes as with a read.
func TestARecoverySaysWhetherTheLastEntryIsLostOrDamaged(t *testing.T) {
	for seed := range uint64(6) {
		for _, each := range []struct {
			name      string
			bad       int // bookies with a damaged copy
			want, not error
		}{
			{"lost", 0, client.ErrNoSuchEntry, client.ErrDigest},
			{"damaged once", 1, client.ErrDigest, client.ErrNoSuchEntry},
			{"damaged everywhere", 3, client.ErrDigest, client.ErrNoSuchEntry},
		} {
			c := newCluster(t, seed, sim.LAN(), 3)
			c.run(func(h host.Host, one *client.Client) error {
				id, err := withoutItsLast(h, each.bad)
				if err != nil {
					return err
				}
				_, err = one.Open(id, open)
				if err := is(each.name, err, each.want); err != nil {
					return err
				}
				if errors.Is(err, each.not) {
					return errors.New(each.name + ": also of class " + each.not.Error())
				}
				return nil
			})
		}
	}
}

// withoutItsLast is an open ledger of which entry 10 says that 11 is confirmed, which is on no bookie, or damaged on some.
func withoutItsLast(h host.Host, bad int) (ledger.ID, error) {
	const confirmed = 11
	id, err := forged(h, 3, confirmed-2, func(int, ledger.EntryID) bool { return false })
	if err != nil {
		return id, err
	}
	digester, err := ledger.NewDigester(ledger.CRC32C, open.Password)
	if err != nil {
		return id, err
	}
	for i := range 3 {
		one, err := channel.Dial(h, h.Root(), string(bookieAddr(i)), nil, channel.DefaultConfig())
		if err != nil {
			return id, err
		}
		for e := ledger.EntryID(confirmed - 1); e == confirmed-1 || e == confirmed && i < bad; e++ {
			body := make([]byte, digester.Overhead(), 400)
			ledger.PutHeader(body, id, e, confirmed, 1)
			body = append(body, payload(e)...)
			digester.Seal(body)
			if e == confirmed {
				body[len(body)-1]++
			}
			if err := one.AddEntry(channel.Add{MasterKey: ledger.MasterKeyOf(open.Password), Body: body}, 0); err != nil {
				return id, err
			}
		}
		one.Close()
	}
	return id, reopened(h, id)
}

// reopened makes a ledger one whose writer has died.
func reopened(h host.Host, id ledger.ID) error {
	session, err := service.Connect(h, h.Root(), service.DefaultClientConfig(storeAddr))
	if err != nil {
		return err
	}
	defer session.Close()
	ledgers := metadata.NewLedgers(h, h.Root(), session, metadata.DefaultLedgersConfig())
	stored, err := ledgers.Read(id, nil)
	if err != nil {
		return err
	}
	stored.Metadata.State, stored.Metadata.LastEntry, stored.Metadata.Length = ledger.Open, ledger.NoEntry, 0
	_, err = ledgers.Write(id, stored.Metadata, stored.Version, nil)
	return err
}

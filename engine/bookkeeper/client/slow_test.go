package client_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// serveLate has every entry of every ledger, and answers after a delay that may be longer than anybody waits.
func serveLate(h host.Host, listener host.Listener, delay time.Duration) {
	digester, err := ledger.NewDigester(ledger.CRC32C, nil)
	if err != nil {
		panic(err)
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		h.Root().Go("serve", func() {
			in := wire.NewInput(h.Memory(), 4096, wire.FrameBytesMax)
			defer in.Release()
			defer conn.Close()
			for n := 0; ; n++ {
				if n%7 == 0 && !h.Root().Sleep(delay) || !answerOld(conn, in, digester) {
					return
				}
			}
		})
	}
}

// TestLateAnswersMeetNobody: on real goroutines, for the race detector. One of two replicas answers later than others are
// asked, some tasks read, and the client is closed while late answers are under way. What was read stays what it is, and
// no memory is left.
func TestLateAnswersMeetNobody(t *testing.T) {
	l := newLoopback(t, 0)
	var ensemble []ledger.BookieID
	for _, delay := range []time.Duration{40 * time.Millisecond, 0} {
		h := l.newHost(nil)
		listener, err := h.Net().Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ensemble = append(ensemble, ledger.BookieID(listener.Addr()))
		h.Root().Go("accept", func() { serveLate(h, listener, delay) })
		defer func() {
			h.Root().Stop()
			_ = listener.Close()
			h.Root().Wait()
		}()
	}
	const last = 299
	m := ledger.Metadata{
		Quorum: ledger.Quorum{Ensemble: 2, Write: 2, Ack: 2}, State: ledger.Closed, LastEntry: last, Digest: ledger.CRC32C,
		Fragments: []ledger.Fragment{{Ensemble: ensemble}},
	}
	ledgers := metadata.NewLedgers(l.host, l.host.Root(), l.session, metadata.DefaultLedgersConfig())
	if _, err := ledgers.CreateAt(1, m, nil); err != nil {
		t.Fatal(err)
	}
	config := client.DefaultConfig()
	config.SpeculativeReadTimeout, config.ReadsInFlight, config.BatchReads = 5*time.Millisecond, 16, false
	config.Pool.SuspectPause = 20 * time.Millisecond // so that the late one is asked again and again
	one, err := client.New(l.host, l.host.Root(), l.session, config)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close() // again
	r, err := one.Open(1, client.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	g := l.host.Root().New("users")
	ends := host.NewQueue[error](l.host, g, "ends", 10)
	for i := range ledger.EntryID(4) {
		g.Go("read", func() {
			for n := 0; ; n++ {
				entries, err := r.Read(i*50, i*50+99)
				if err == nil && n%3 == 0 {
					time.Sleep(5 * time.Millisecond) // late answers come while the entries are held
				}
				if errors.Is(err, client.ErrClientClosed) || errors.Is(err, client.ErrUnavailable) {
					return
				}
				if err := holds(entries, err, i*50, i*50+99); err != nil {
					ends.Offer(fmt.Errorf("reader %d, round %d: %w", i, n, err))
					return
				}
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	one.Close()
	g.Wait()
	ends.End()
	all, _ := ends.Take(nil)
	for _, err := range all {
		t.Error(err)
	}
}

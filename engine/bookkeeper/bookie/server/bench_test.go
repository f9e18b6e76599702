package server_test

import (
	"testing"

	"lakebed/engine/bookkeeper/bookie/server"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
)

// BenchmarkAdds is synced adds of 100 bytes over one connection, 1,024 outstanding.
func BenchmarkAdds(b *testing.B) {
	l := newLoopback(b, server.DefaultConfig())
	c := l.dial(b)
	defer c.Close()
	const outstanding = 1024
	done := newCollector(l.client, outstanding)
	free := make([]*channel.Request, 0, outstanding)
	for range outstanding {
		free = append(free, &channel.Request{Operation: wire.Add, MasterKey: key, Body: stored(1, 0, 100), Done: done})
	}
	b.ReportAllocs()
	b.ResetTimer()
	var batch []*channel.Request
	for sent, answered := 0, 0; answered < b.N; {
		for _, r := range free {
			if sent < b.N {
				ledger.PutHeader(r.Body, 1, ledger.EntryID(sent), ledger.EntryID(sent-1), 100)
				if err := c.Submit(r); err != nil {
					b.Fatal(err)
				}
				sent++
			}
		}
		batch, _ = done.queue.Take(batch)
		free = append(free[:0], batch...)
		answered += len(batch)
		for _, r := range batch {
			if r.Err != nil {
				b.Fatal(r.Err)
			}
		}
	}
}

// BenchmarkReads is reads of 100 bytes from the write cache over one connection, 1,024 outstanding, each of another
// entry.
func BenchmarkReads(b *testing.B) {
	l := newLoopback(b, server.DefaultConfig())
	c := l.dial(b)
	defer c.Close()
	const outstanding = 1024
	if err := writeWindow(l.client, c, 1, outstanding, 100); err != nil {
		b.Fatal(err)
	}
	done := newCollector(l.client, outstanding)
	free := make([]*channel.Request, 0, outstanding)
	for e := range ledger.EntryID(outstanding) {
		free = append(free, &channel.Request{Operation: wire.Read, Ledger: 1, Entry: e, Done: done})
	}
	b.ReportAllocs()
	b.ResetTimer()
	var batch []*channel.Request
	for sent, answered := 0, 0; answered < b.N; {
		for _, r := range free {
			if sent < b.N {
				if err := c.Submit(r); err != nil {
					b.Fatal(err)
				}
				sent++
			}
		}
		batch, _ = done.queue.Take(batch)
		free = append(free[:0], batch...)
		answered += len(batch)
		for _, r := range batch {
			if r.Err != nil {
				b.Fatal(r.Err)
			}
			r.Release()
		}
	}
}

package hosttest

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"lakebed/engine/host"
)

// sentBytes is more than links and sockets of any world hold.
const sentBytes = 700_000

// sender is one way to send parts of a file.
type sender func(c host.SpanSender, f host.File, head [][]byte, spans []host.Span) error

func asFile(c host.SpanSender, f host.File, head [][]byte, spans []host.Span) error {
	return c.SendFile(head, f, spans)
}

// asMapping maps the whole file for one call.
func asMapping(c host.SpanSender, f host.File, head [][]byte, spans []host.Span) error {
	size, err := f.Size()
	if err != nil {
		return err
	}
	m, err := f.(host.Mapper).Map(0, size)
	if err != nil {
		return err
	}
	return errors.Join(c.SendMapped(head, m, spans), m.Unmap())
}

// endsEarly says that doing must have failed since the file ends too early.
func endsEarly(doing string, err error) error {
	return that(errors.Is(err, io.ErrUnexpectedEOF), "%s: got error %v, want %q", doing, err, io.ErrUnexpectedEOF)
}

// onSentFile gives talk a file of sentBytes and a connection that can send it.
func onSentFile(talk func(h host.Host, c host.Conn, s host.SpanSender, f host.File) error) Talk {
	return dialing(func(h host.Host, c host.Conn) error {
		s, ok := c.(host.SpanSender)
		if !ok {
			return errors.New("the connection sends no files")
		}
		return onFile(func(h host.Host, d host.Dir, f host.File) error {
			return errors.Join(must("write", host.WriteFullAt(f, pattern(sentBytes, 3), 0)), talk(h, c, s, f))
		})(h)
	})
}

func sendings() []Contract {
	var all []Contract
	for _, way := range []struct {
		name string
		send sender
	}{{"AFile", asFile}, {"AMapping", asMapping}} {
		all = append(all,
			between(way.name+"IsSentInPiecesBehindItsHead", serving(echoing), onSentFile(sendPieces(way.send))),
			between(way.name+"IsSentToWhoReadsLate", serving(echoing), onSentFile(sendAmongWrites(way.send))),
			between("ToSendBehindTheEndOf"+way.name+"BreaksTheConnection", serving(echoing), onSentFile(sendTooMuch(way.send))),
			between("ToSend"+way.name+"OnAClosedConnectionFails", serving(silent), onSentFile(sendClosed(way.send))),
			between("CloseWakesWhoSends"+way.name, serving(silent), onSentFile(closeWakesSender(way.send))),
			between("APeerThatTakesNothingOf"+way.name+"TimesOut", serving(silent), onSentFile(senderStalls(way.send))),
		)
	}
	return append(all,
		broken("AReadErrorOfAMappingIsToldAsOne", onBrokenFile(readErrorOfMapping)),
		alone("AMappingShowsWhatIsWrittenLater", onFile(mappingShows)),
		alone("AMappingBehindTheEndIsRefused", onFile(mappingBehindEnd)),
		alone("AdviceChangesNothing", onFile(advice)),
	)
}

// sendPieces sends spans out of order, with one that is empty, and what was written just now.
func sendPieces(send sender) func(h host.Host, c host.Conn, s host.SpanSender, f host.File) error {
	return func(h host.Host, c host.Conn, s host.SpanSender, f host.File) error {
		data := pattern(sentBytes, 3)
		copy(data[200_000:], "fresh")
		spans := []host.Span{{Off: 100_000, Len: 150_000}, {Off: 7, Len: 0}, {Off: 0, Len: 1}, {Off: sentBytes - 3, Len: 3}}
		want := []byte("a head")
		for _, s := range spans {
			want = append(want, data[s.Off:s.Off+s.Len]...)
		}
		g := h.Root().New("writer")
		failed := newShared[error](h, "failed")
		g.Go("send", func() {
			err := errors.Join(host.WriteFullAt(f, []byte("fresh"), 200_000), send(s, f, [][]byte{[]byte("a "), nil, []byte("head")}, spans),
				must("send nothing", send(s, f, nil, nil)), must("send a head alone", send(s, f, [][]byte{[]byte("tail")}, nil)))
			failed.change(func(e *error) { *e = err })
		})
		err := receives(c, append(want, "tail"...))
		if err != nil {
			c.Close() // wakes the writer
		}
		g.Wait()
		return errors.Join(err, must("send", failed.get()))
	}
}

// sendAmongWrites sends the whole file between two writes, while the reader begins late.
func sendAmongWrites(send sender) func(h host.Host, c host.Conn, s host.SpanSender, f host.File) error {
	return func(h host.Host, c host.Conn, s host.SpanSender, f host.File) error {
		c.Limits(0, patience)
		g := h.Root().New("writer")
		failed := newShared[error](h, "failed")
		g.Go("send", func() {
			err := errors.Join(c.WriteBuffers([][]byte{[]byte("before")}), send(s, f, nil, []host.Span{{Len: sentBytes}}),
				c.WriteBuffers([][]byte{[]byte("after")}))
			failed.change(func(e *error) { *e = err })
		})
		h.Root().Sleep(2 * moment)
		err := receives(c, bytes.Join([][]byte{[]byte("before"), pattern(sentBytes, 3), []byte("after")}, nil))
		if err != nil {
			c.Close()
		}
		g.Wait()
		return errors.Join(err, must("send", failed.get()))
	}
}

func sendTooMuch(send sender) func(h host.Host, c host.Conn, s host.SpanSender, f host.File) error {
	return func(h host.Host, c host.Conn, s host.SpanSender, f host.File) error {
		err := send(s, f, [][]byte{[]byte("head")}, []host.Span{{Off: sentBytes - 100, Len: 101}})
		return errors.Join(endsEarly("send", err), refused("write on the broken connection", c.WriteBuffers([][]byte{{1}})))
	}
}

func sendClosed(send sender) func(h host.Host, c host.Conn, s host.SpanSender, f host.File) error {
	return func(h host.Host, c host.Conn, s host.SpanSender, f host.File) error {
		return errors.Join(must("close", c.Close()), fails("send", send(s, f, nil, []host.Span{{Len: 10}}), host.ErrClosed))
	}
}

// sendMany sends until it fails.
func sendMany(send sender, s host.SpanSender, f host.File) error {
	for range 256 {
		if err := send(s, f, nil, []host.Span{{Len: sentBytes}}); err != nil {
			return err
		}
	}
	return fmt.Errorf("a peer that does not read took %d bytes", 256*sentBytes)
}

func closeWakesSender(send sender) func(h host.Host, c host.Conn, s host.SpanSender, f host.File) error {
	return func(h host.Host, c host.Conn, s host.SpanSender, f host.File) error {
		closer := h.Root().New("closer")
		closer.Go("close", func() {
			h.Root().Sleep(5 * moment)
			c.Close()
		})
		err := sendMany(send, s, f)
		closer.Wait()
		return fails("send", err, host.ErrClosed)
	}
}

func senderStalls(send sender) func(h host.Host, c host.Conn, s host.SpanSender, f host.File) error {
	return func(h host.Host, c host.Conn, s host.SpanSender, f host.File) error {
		c.Limits(0, 3*moment)
		var err error
		waited := took(h, func() { err = sendMany(send, s, f) })
		return errors.Join(fails("send", err, host.ErrTimeout), that(waited >= 3*moment, "timed out after %v", waited))
	}
}

// readErrorOfMapping needs no peer: what is told of a mapping's read is what its sending tells.
func readErrorOfMapping(f host.File, arm func(Fault)) error {
	m, err := f.(host.Mapper).Map(0, 4000)
	if err != nil {
		return must("map", err)
	}
	arm(ReadFails)
	p := make([]byte, 100)
	_, failed := m.ReadAt(p, 10)
	n, again := m.ReadAt(p, 10)
	return errors.Join(fails("read the mapping", failed, host.ErrIO), must("read it again", again), equal("bytes read", n, 100),
		that(bytes.Equal(p, pattern(4000, 1)[10:110]), "the mapping shows other bytes than the file"), must("unmap", m.Unmap()))
}

func mappingShows(h host.Host, d host.Dir, f host.File) error {
	data := pattern(20_000, 4)
	if err := host.WriteFullAt(f, data, 0); err != nil {
		return must("write", err)
	}
	m, err := f.(host.Mapper).Map(5, 19_000)
	if err != nil {
		return must("map", err)
	}
	copy(data[10_000:], "later")
	failures := []error{host.WriteFullAt(f, []byte("later"), 10_000)}
	got := make([]byte, 19_000)
	n, err := m.ReadAt(got, 0)
	failures = append(failures, must("read", err), equal("bytes", n, 19_000), that(bytes.Equal(got, data[5:19_005]), "the mapping shows other bytes"))
	n, err = m.ReadAt(got[:100], 18_950)
	failures = append(failures, fails("read across the end", err, io.EOF), equal("bytes", n, 50))
	failures = append(failures, must("unmap", m.Unmap()), fails("unmap again", m.Unmap(), host.ErrClosed))
	_, err = m.ReadAt(got, 0)
	return errors.Join(append(failures, fails("read what was unmapped", err, host.ErrClosed))...)
}

func mappingBehindEnd(h host.Host, d host.Dir, f host.File) error {
	failures := []error{f.Truncate(100)}
	for _, s := range []host.Span{{Off: 0, Len: 101}, {Off: 100, Len: 1}, {Off: 101, Len: 0}, {Off: -1, Len: 1}, {Off: 0, Len: -1}, {Off: 1, Len: 1<<63 - 1}} {
		_, err := f.(host.Mapper).Map(s.Off, s.Len)
		failures = append(failures, endsEarly(fmt.Sprintf("map %+v", s), err))
	}
	return errors.Join(failures...)
}

func advice(h host.Host, d host.Dir, f host.File) error {
	data := pattern(50_000, 5)
	if err := host.WriteFullAt(f, data, 0); err != nil {
		return must("write", err)
	}
	for a := host.AdviseNormal; a <= host.AdviseDontNeed; a++ {
		host.Advise(f, host.Span{}, a)
		host.Advise(f, host.Span{Off: 5000, Len: 10_000}, a)
		host.Advise(f, host.Span{Off: 1 << 40, Len: 1}, a)
		host.Advise(f, host.Span{Off: -1, Len: -1}, a)
	}
	return holds(f, 0, data)
}

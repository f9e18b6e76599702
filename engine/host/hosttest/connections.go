package hosttest

import (
	"bytes"
	"errors"
	"io"

	"lakebed/engine/host"
)

func connections() []Contract {
	return []Contract{
		between("OneMebibyteComesBackThroughSplitReads", serving(echoing), dialing(echoMebibyte)),
		between("AGatherWriteArrivesInOrder", serving(echoing), dialing(gatherOverNet)),
		between("BothDirectionsFlowAtOnce", serving(echoing), dialing(bothDirections)),
		between("ManyConnectionsAreApart", serving(echoing), manyConnections),
		between("CloseWakesTheReader", serving(silent), dialing(closeWakesReader)),
		between("CloseWakesTheWriter", serving(silent), dialing(closeWakesWriter)),
		between("AClosedConnectionRefusesEverything", serving(silent), dialing(closedConnection)),
		between("BytesSentBeforeACloseArriveAndThenEOF", serving(sendAndClose), dialing(readToEnd)),
		between("WritingToAPeerThatHasGoneFailsInTheEnd", serving(hangUp), dialing(writeToGone)),
		between("ThePeerHasAnAddress", serving(echoing), dialing(func(h host.Host, c host.Conn) error {
			return that(c.Peer() != "", "Peer is empty")
		})),
	}
}

func echoMebibyte(h host.Host, c host.Conn) error {
	data := pattern(1<<20, 1)
	g := h.Root().New("writer")
	written := newShared[error](h, "written")
	g.Go("write", func() {
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 70_001)
			if err := c.WriteBuffers([][]byte{rest[:n]}); err != nil {
				written.change(func(e *error) { *e = err })
				return
			}
			rest = rest[n:]
		}
	})
	err := receives(c, data)
	if err != nil {
		c.Close() // wakes the writer
	}
	g.Wait()
	return errors.Join(err, must("write", written.get()))
}

func gatherOverNet(h host.Host, c host.Conn) error {
	var buffers [][]byte
	for i := range 1500 { // more than one call of a machine takes
		buffers = append(buffers, pattern(i%5, byte(i)))
	}
	kept := append([][]byte(nil), buffers...)
	if err := c.WriteBuffers(buffers); err != nil {
		return must("write", err)
	}
	for i := range buffers {
		if !bytes.Equal(kept[i], buffers[i]) || len(kept[i]) != i%5 {
			return that(false, "buffer %d was changed by the write", i)
		}
	}
	return errors.Join(receives(c, bytes.Join(kept, nil)), must("write nothing", c.WriteBuffers(nil)))
}

// bothDirections sends in one task while it reads in another, in pieces of different sizes.
func bothDirections(h host.Host, c host.Conn) error {
	g := h.Root().New("writer")
	g.Go("write", func() {
		for i := range 200 {
			if c.WriteBuffers([][]byte{pattern(i*7, byte(i))}) != nil {
				return // the reader will say what is missing
			}
		}
	})
	var err error
	for i := 0; i < 200 && err == nil; i++ {
		err = receives(c, pattern(i*7, byte(i)))
	}
	if err != nil {
		c.Close()
	}
	g.Wait()
	return err
}

func manyConnections(h host.Host, address string) error {
	g := h.Root().New("clients")
	failed := newShared[error](h, "failed")
	for i := range 5 {
		g.Go("client", func() {
			err := dialing(func(h host.Host, c host.Conn) error {
				data := pattern(30_000, byte(i))
				return errors.Join(c.WriteBuffers([][]byte{data}), receives(c, data))
			})(h, address)
			failed.change(func(all *error) { *all = errors.Join(*all, err) })
		})
	}
	g.Wait()
	return failed.get()
}

func closeWakesReader(h host.Host, c host.Conn) error {
	closer := h.Root().New("closer")
	closer.Go("close", func() {
		h.Root().Sleep(moment)
		c.Close()
	})
	err := endsWith(c, host.ErrClosed)
	closer.Wait()
	return err
}

func closeWakesWriter(h host.Host, c host.Conn) error {
	closer := h.Root().New("closer")
	closer.Go("close", func() {
		h.Root().Sleep(5 * moment)
		c.Close()
	})
	err := fill(c)
	closer.Wait()
	return fails("write", err, host.ErrClosed)
}

func closedConnection(h host.Host, c host.Conn) error {
	return errors.Join(
		must("close", c.Close()),
		endsWith(c, host.ErrClosed),
		fails("write", c.WriteBuffers([][]byte{{1}}), host.ErrClosed),
	)
}

// farewell is long enough to come in several reads. A function, so that no contract can change it for another.
func farewell() []byte { return pattern(50_000, 9) }

func sendAndClose(h host.Host, c host.Conn) error {
	return errors.Join(must("write", c.WriteBuffers([][]byte{farewell()})), must("close", c.Close()))
}

func readToEnd(h host.Host, c host.Conn) error {
	return errors.Join(receives(c, farewell()), endsWith(c, io.EOF), endsWith(c, io.EOF))
}

func hangUp(h host.Host, c host.Conn) error { return must("close", c.Close()) }

// writeToGone learns of the end only with delay: the first writes may still be taken.
func writeToGone(h host.Host, c host.Conn) error {
	for range 1000 {
		if err := c.WriteBuffers([][]byte{pattern(1000, 1)}); err != nil {
			return ended("write", err)
		}
		h.Root().Sleep(moment / 10)
	}
	return that(false, "a peer that has gone took a thousand writes")
}

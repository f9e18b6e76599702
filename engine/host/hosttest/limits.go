package hosttest

import (
	"errors"
	"io"
	"time"

	"lakebed/engine/host"
)

func limits() []Contract {
	return []Contract{
		between("ASilentPeerEndsAReadAtItsLimit", serving(silent), dialing(readLimit)),
		between("AReadLimitLeavesTheConnectionUsable", serving(echoing), dialing(readAfterLimit)),
		between("AReadLimitIsForEachByteAndNotForAll", serving(dripping), dialing(readDrips)),
		between("AReadLimitCountsFromTheBeginningOfTheRead", serving(oneByte), dialing(readOneAndWait)),
		between("AStalledPeerEndsAWriteAtItsLimit", serving(silent), dialing(writeLimit)),
		between("AWriteThatFailedBreaksTheConnection", lateReader, writeAfterLimit),
		between("ALimitOfZeroIsNone", serving(delayed), dialing(limitLifted)),
	}
}

func readLimit(h host.Host, c host.Conn) error {
	c.Limits(moment, 0)
	var err error
	waited := took(h, func() { err = endsWith(c, host.ErrTimeout) })
	return errors.Join(err, that(waited >= moment, "timed out after %v of %v", waited, moment))
}

func readAfterLimit(h host.Host, c host.Conn) error {
	c.Limits(moment, 0)
	err := endsWith(c, host.ErrTimeout)
	c.Limits(patience, 0)
	return errors.Join(err, c.WriteBuffers([][]byte{pattern(5000, 1)}), receives(c, pattern(5000, 1)))
}

const drips = 8

// dripping sends a byte now and then, all of them in longer than the reader's limit.
func dripping(h host.Host, c host.Conn) error {
	for i := range drips {
		if c.WriteBuffers([][]byte{{byte(i)}}) != nil {
			return nil // the reader says why
		}
		h.Root().Sleep(5 * moment)
	}
	return nil
}

func readDrips(h host.Host, c host.Conn) error {
	c.Limits(25*moment, 0)
	return receives(c, []byte{0, 1, 2, 3, 4, 5, 6, 7})
}

// oneByte sends a byte when a tenth of the client's limit has passed.
func oneByte(h host.Host, c host.Conn) error {
	h.Root().Sleep(moment)
	c.WriteBuffers([][]byte{{7}}) // the client says what is missing
	return nil
}

func readOneAndWait(h host.Host, c host.Conn) error {
	c.Limits(10*moment, 0)
	if err := receives(c, []byte{7}); err != nil {
		return err
	}
	var err error
	waited := took(h, func() { err = endsWith(c, host.ErrTimeout) })
	return errors.Join(err, that(waited >= 10*moment, "timed out after %v of %v", waited, 10*moment))
}

func writeLimit(h host.Host, c host.Conn) error {
	c.Limits(0, 5*moment)
	var err error
	waited := took(h, func() { err = fill(c) })
	return errors.Join(fails("write", err, host.ErrTimeout),
		that(waited >= 5*moment, "timed out after %v of %v", waited, 5*moment))
}

// writeAfterLimit finds its own end broken for both directions: the read would otherwise wait for all its patience. By
// a second connection it lets the server look at the first, and waits until that is done.
func writeAfterLimit(h host.Host, address string) error {
	c, err := dialPatiently(h, address)
	if err != nil {
		return err
	}
	defer c.Close()
	c.Limits(patience, 5*moment)
	failure := fails("write", fill(c), host.ErrTimeout)
	_, err = c.Read(make([]byte, 1))
	failure = errors.Join(
		failure,
		that(errors.Is(err, host.ErrClosed) || errors.Is(err, host.ErrReset), "read after the break: got error %v", err),
		refused("write again, behind a frame that was cut", c.WriteBuffers([][]byte{{1}})),
	)
	second, err := h.Net().Dial(address, nil)
	if err != nil {
		return errors.Join(failure, must("dial again", err))
	}
	defer second.Close()
	return errors.Join(failure, endsWith(second, io.EOF))
}

// lateReader reads the first connection only when the client has given it up. The stream must not come to a clean end,
// since the last frame was cut.
func lateReader(h host.Host, address string) error {
	listener, err := h.Net().Listen(address)
	if err != nil {
		return must("listen", err)
	}
	defer listener.Close()
	first, err := listener.Accept()
	if err != nil {
		return must("accept", err)
	}
	defer first.Close()
	second, err := listener.Accept()
	if err != nil {
		return must("accept again", err)
	}
	defer second.Close()
	first.Limits(patience, 0)
	for buffer := make([]byte, 1<<16); err == nil; {
		_, err = first.Read(buffer)
	}
	return fails("read to the cut", err, host.ErrReset)
}

// delayed sends one byte after more than the limit that the client had.
func delayed(h host.Host, c host.Conn) error {
	h.Root().Sleep(10 * moment)
	c.WriteBuffers([][]byte{{7}}) // the client may have gone, and says why
	return nil
}

func limitLifted(h host.Host, c host.Conn) error {
	c.Limits(time.Millisecond, time.Millisecond)
	err := endsWith(c, host.ErrTimeout)
	c.Limits(0, 0)
	return errors.Join(err, receives(c, []byte{7}))
}

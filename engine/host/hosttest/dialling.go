package hosttest

import (
	"errors"
	"strings"

	"lakebed/engine/host"
)

// nobody is a server that does not listen.
func nobody(h host.Host, address string) error {
	host.AwaitStop(h.Root())
	return nil
}

func dialling() []Contract {
	return []Contract{
		between("DialingNobodyIsRefused", nobody, func(h host.Host, address string) error {
			_, err := h.Net().Dial(address, nil)
			return fails("dial", err, host.ErrRefused)
		}),
		between("DialingInAnExpiredScopeTimesOut", serving(silent), func(h host.Host, address string) error {
			h.Root().Sleep(moment)
			_, err := h.Net().Dial(address, &host.Scope{Deadline: h.Elapsed() - 1})
			return fails("dial", err, host.ErrTimeout)
		}),
		between("DialingInACancelledScopeIsStopped", serving(silent), func(h host.Host, address string) error {
			g := h.Root().New("cancelled")
			g.Stop()
			_, err := h.Net().Dial(address, host.Within(h, g, forever))
			return fails("dial", err, host.ErrStopping)
		}),
		between("DialingWithinALastingScopeSucceeds", serving(echoing), dialing(func(h host.Host, c host.Conn) error {
			return errors.Join(c.WriteBuffers([][]byte{{1, 2, 3}}), receives(c, []byte{1, 2, 3}))
		})),
		between("AnEndedScopeLeavesItsConnectionAlone", serving(echoing), endedScope),
		between("ClosingAListenerWakesAccept", closeWakesAccept, func(host.Host, string) error { return nil }),
		between("AClosedListenerRefusesNewConnections", nobodyAfterClose, dialing(func(h host.Host, c host.Conn) error {
			return receives(c, []byte{1}) // sent after the listener was closed
		})),
		between("AnAddressIsTakenOnce", takenOnce, func(host.Host, string) error { return nil }),
		between("PortZeroIsChosenByTheMachine", portZero, func(host.Host, string) error { return nil }),
	}
}

func endedScope(h host.Host, address string) error {
	first, err := dialPatiently(h, address)
	if err != nil {
		return err
	}
	first.Close()
	g := h.Root().New("scope")
	c, err := h.Net().Dial(address, host.Within(h, g, patience))
	if err != nil {
		return must("dial", err)
	}
	defer c.Close()
	g.Stop()
	return errors.Join(c.WriteBuffers([][]byte{{4, 5}}), receives(c, []byte{4, 5}))
}

func closeWakesAccept(h host.Host, address string) error {
	listener, err := h.Net().Listen(address)
	if err != nil {
		return must("listen", err)
	}
	closer := h.Root().New("closer")
	closer.Go("close", func() {
		h.Root().Sleep(moment)
		listener.Close()
	})
	_, err = listener.Accept()
	closer.Wait()
	_, again := listener.Accept()
	return errors.Join(fails("accept", err, host.ErrClosed), fails("accept again", again, host.ErrClosed))
}

// nobodyAfterClose closes its listener, dials itself in vain, and goes on with the connection it has.
func nobodyAfterClose(h host.Host, address string) error {
	listener, err := h.Net().Listen(address)
	if err != nil {
		return must("listen", err)
	}
	c, err := listener.Accept()
	if err != nil {
		return must("accept", err)
	}
	defer c.Close()
	if err := listener.Close(); err != nil {
		return must("stop listening", err)
	}
	_, err = h.Net().Dial(address, nil)
	return errors.Join(fails("dial", err, host.ErrRefused), c.WriteBuffers([][]byte{{1}}))
}

func takenOnce(h host.Host, address string) error {
	listener, err := h.Net().Listen(address)
	if err != nil {
		return must("listen", err)
	}
	_, second := h.Net().Listen(address)
	if err := listener.Close(); err != nil {
		return must("stop listening", err)
	}
	again, err := h.Net().Listen(address)
	if err != nil {
		return must("listen on an address that was given up", err)
	}
	return errors.Join(fails("listen on a taken address", second, host.ErrExist), again.Close())
}

func portZero(h host.Host, address string) error {
	name := address[:strings.LastIndex(address, ":")]
	listener, err := h.Net().Listen(name + ":0")
	if err != nil {
		return must("listen on port 0", err)
	}
	defer listener.Close()
	if strings.HasSuffix(listener.Addr(), ":0") {
		return that(false, "Addr is %s", listener.Addr())
	}
	c, err := h.Net().Dial(listener.Addr(), nil) // Addr is an address to dial
	if err != nil {
		return must("dial the chosen port", err)
	}
	defer c.Close()
	accepted, err := listener.Accept()
	if err != nil {
		return must("accept", err)
	}
	defer accepted.Close()
	return errors.Join(accepted.WriteBuffers([][]byte{{3}}), receives(c, []byte{3}))
}

package ledgers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"lakebed/engine/host"
)

// Ports are taken from below those that the kernel gives to outgoing connections: otherwise one of these could sit on the
// port of a bookie that is stopped for a moment.
const (
	portMin      = 12_000
	portMax      = 32_000
	portAttempts = 200
	portPause    = 10 * time.Millisecond // before a port that is known is tried again
	loopback     = "127.0.0.1"
)

// listen takes an address, or a free port of the loopback if it is empty. A known address may still be held by the
// process before, for a moment.
func listen(network host.Net, address string) (host.Listener, error) {
	var last error
	for range portAttempts {
		at := address
		if at == "" {
			at = net.JoinHostPort(loopback, strconv.Itoa(portMin+rand.IntN(portMax-portMin)))
		}
		listener, err := network.Listen(at)
		if err == nil {
			return listener, nil
		}
		last = err
		if address != "" {
			time.Sleep(portPause)
		}
	}
	return nil, fmt.Errorf("no port to listen on after %d attempts: %w", portAttempts, last)
}

// prepared is a host whose next Listen gets a listener that is open already: an address is known before its node starts,
// and nobody else can take it in between.
type prepared struct {
	host.Host
	listener host.Listener // nil: taken
}

func (p *prepared) Net() host.Net { return preparedNet{p.Host.Net(), p} }

type preparedNet struct {
	host.Net
	prepared *prepared
}

// Listen is called once, by the task that boots the node.
func (n preparedNet) Listen(address string) (host.Listener, error) {
	if n.prepared.listener == nil || n.prepared.listener.Addr() != address {
		return n.Net.Listen(address)
	}
	listener := n.prepared.listener
	n.prepared.listener = nil
	return listener, nil
}

// abandon closes the listener if the node has ended without it.
func (p *prepared) abandon() error {
	if p.listener == nil {
		return nil
	}
	if err := p.listener.Close(); err != nil && !errors.Is(err, host.ErrClosed) {
		return err
	}
	return nil
}

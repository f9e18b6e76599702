package processes

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// reservation keeps a port of the loopback interface for a child: see the package comment.
type reservation struct {
	socket  int
	address string
}

func reserve() (*reservation, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	r := &reservation{socket: socket}
	if err := r.bind(); err != nil {
		r.release()
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	return r, nil
}

func (r *reservation) bind() error {
	if err := unix.SetsockoptInt(r.socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return err
	}
	if err := unix.Bind(r.socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	name, err := unix.Getsockname(r.socket)
	if err != nil {
		return err
	}
	bound, ok := name.(*unix.SockaddrInet4)
	if !ok {
		return fmt.Errorf("bound to %T", name)
	}
	r.address = fmt.Sprintf("127.0.0.1:%d", bound.Port)
	return nil
}

func (r *reservation) release() { _ = unix.Close(r.socket) }

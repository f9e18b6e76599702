package oshost

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"lakebed/engine/host"
)

// explain says what was being done when err came, and adds the class that a caller of the seam may branch on. The
// machine's own error stays in the chain, without the operation and the path that os and net put around it.
func explain(err error, format string, args ...any) error {
	doing := fmt.Sprintf(format, args...)
	var errno unix.Errno
	if errors.As(err, &errno) {
		err = errno
	}
	class := classOf(err)
	switch {
	case class == nil || class == err:
		return fmt.Errorf("%s: %w", doing, err)
	case class.Error() == err.Error():
		return fmt.Errorf("%s: %w", doing, alike{error: err, class: class})
	}
	return fmt.Errorf("%s: %w (%w)", doing, class, err)
}

// alike is an error of the machine that says the same as its class, once.
type alike struct {
	error
	class error
}

// Unwrap makes both of them found.
func (a alike) Unwrap() []error { return []error{a.class, a.error} }

// classOf is the sentinel for err, or nil if a caller has no branch to take on it.
func classOf(err error) error {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return classOfErrno(errno)
	}
	switch {
	case errors.Is(err, os.ErrClosed), errors.Is(err, net.ErrClosed):
		return host.ErrClosed
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return host.ErrTimeout
	case errors.Is(err, context.Canceled):
		return host.ErrStopping
	}
	var unknownName *net.DNSError
	if errors.As(err, &unknownName) && !unknownName.IsTimeout {
		return host.ErrRefused
	}
	var timed net.Error
	if errors.As(err, &timed) && timed.Timeout() {
		return host.ErrTimeout
	}
	return nil
}

func classOfErrno(errno unix.Errno) error {
	switch errno {
	case unix.EEXIST, unix.EADDRINUSE:
		return host.ErrExist
	case unix.ENOENT:
		return host.ErrNotExist
	case unix.ENOSPC, unix.EDQUOT:
		return host.ErrNoSpace
	case unix.EIO, unix.EREMOTEIO, unix.ENODEV, unix.ENXIO, unix.EROFS, unix.EUCLEAN, unix.EBADMSG, unix.EFAULT:
		// EROFS: a file system that met an error remounts itself read-only. EUCLEAN, EBADMSG: it found its own
		// structures or checksums damaged. EFAULT: bytes of a mapping were to be read that cannot be.
		return host.ErrIO
	case unix.EBADF:
		return host.ErrClosed
	case unix.ECONNRESET, unix.EPIPE, unix.ECONNABORTED:
		return host.ErrReset
	case unix.ECONNREFUSED, unix.EHOSTUNREACH, unix.ENETUNREACH, unix.EHOSTDOWN:
		return host.ErrRefused
	case unix.ETIMEDOUT:
		return host.ErrTimeout
	}
	return nil
}

// interrupted reports whether a call must be made again because a signal came first. The runtime's own preemption
// signals make this an ordinary event.
func interrupted(err error) bool { return err == unix.EINTR }

package host

import "errors"

// The classes of failure that a caller of the seam may branch on. Implementations wrap them with what was being done
// to what; test with errors.Is. io.EOF is used as it is.
var (
	ErrExist    = errors.New("already exists")
	ErrNotExist = errors.New("does not exist")
	ErrNoSpace  = errors.New("no space left on the volume")
	ErrIO       = errors.New("input/output error")
	ErrLocked   = errors.New("locked by another process")
	ErrClosed   = errors.New("closed")
	ErrReset    = errors.New("connection reset by peer")
	ErrRefused  = errors.New("connection refused")
	ErrTimeout  = errors.New("timed out")
	ErrStopping = errors.New("stopping")
)

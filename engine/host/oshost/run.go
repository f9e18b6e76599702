package oshost

import (
	"context"
	"errors"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"lakebed/engine/host"
)

// Run is the life of one node on this machine: it boots the node, stops its root group when ctx ends, and returns when
// boot has returned. The error is boot's, joined with ErrLeftOver if tasks still run.
func Run(ctx context.Context, config Config, boot func(host.Host) error) error {
	h, err := New(config)
	if err != nil {
		return err
	}
	forget := context.AfterFunc(ctx, h.root.Stop)
	defer forget()
	err = boot(h)
	return errors.Join(err, h.Close())
}

// UntilTerminated returns a context that ends at the first SIGTERM or SIGINT. The second one has its usual effect, so
// that an operator can still end a process whose clean stop hangs.
func UntilTerminated(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, release := signal.NotifyContext(parent, unix.SIGTERM, unix.SIGINT)
	context.AfterFunc(ctx, release)
	return ctx, release
}

// FromContext adapts a context to a scope at the public edge, where callers have contexts and the engine has none. The
// caller releases the scope when the operation is over.
func (h *Host) FromContext(ctx context.Context) (scope *host.Scope, release func()) {
	scope = &host.Scope{}
	if deadline, ok := ctx.Deadline(); ok {
		scope.Deadline = max(h.Elapsed()+time.Until(deadline), 1) // long past is not the same as none
	}
	if ctx.Done() == nil {
		return scope, func() {}
	}
	cancelled := newGroup(h, "context")
	scope.Group = cancelled
	forget := context.AfterFunc(ctx, func() {
		// A context whose deadline passed is done as well; that is a timeout, which the scope knows by itself.
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			cancelled.Stop()
		}
	})
	return scope, func() { forget() }
}

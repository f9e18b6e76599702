package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/memory"
	"lakebed/engine/host"
)

// call is a request with the task that waits for it. Guarded by the client's mutex.
type call struct {
	request    Request
	answered   host.Cond // nil for background
	floor      memory.Index
	background bool // nobody waits: pings, and the upkeep of watches
	sent       bool
	abandoned  bool // the caller has left, the answer is still owed
	done       bool
	response   Response
	err        error
}

// finish wakes the caller.
func (k *call) finish(r Response, err error) {
	if k.done || k.abandoned || k.background {
		return
	}
	k.done, k.response, k.err = true, r, err
	k.answered.Signal()
}

// enter puts a call at the end of the line. The mutex must be held.
func (c *Client) enter(r Request, s *host.Scope) *call {
	g := c.tasks
	if s != nil && s.Group != nil {
		g = s.Group
	}
	k := &call{request: r, answered: g.NewCond(c.mutex)}
	c.line = append(c.line, k)
	c.work.Signal()
	return k
}

// do sends a request and waits for its answer.
func (c *Client) do(r Request, s *host.Scope) (Response, error) {
	if err := validate(&r); err != nil {
		return Response{}, fmt.Errorf("%s: %w", about(&r), err)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closing {
		return Response{}, unsent(&r, host.ErrClosed)
	}
	k := c.enter(r, s)
	for !k.done {
		now := c.h.Elapsed()
		if err := s.Err(now); err != nil {
			return Response{}, c.abandon(k, err)
		}
		if s != nil && s.Deadline != 0 {
			k.answered.WaitFor(s.Deadline - now)
		} else {
			k.answered.Wait()
		}
	}
	return k.response, k.err
}

func validate(r *Request) error {
	if r.Operation == Sync {
		return nil
	}
	if err := metadata.ValidateKey(r.Key); err != nil {
		return err
	}
	return metadata.ValidateValue(r.Data)
}

// abandon takes a call back whose caller does not wait any longer. The mutex must be held.
func (c *Client) abandon(k *call, cause error) error {
	if i := slices.Index(c.line, k); i >= 0 {
		c.line = slices.Delete(c.line, i, i+1)
		if c.down != nil && errors.Is(cause, host.ErrTimeout) {
			return unsent(&k.request, fmt.Errorf("%w: %w", cause, c.down)) // the time was up because of that
		}
		return unsent(&k.request, cause)
	}
	k.abandoned = true
	k.request.Data = nil // the caller's
	if k.request.Operation.Writes() {
		return fmt.Errorf("%s: %w: %w", about(&k.request), metadata.ErrOutcomeUnknown, cause)
	}
	return unsent(&k.request, cause)
}

// unsent is the error of a request that changed nothing: it was not sent, or does not change anything.
func unsent(r *Request, cause error) error {
	return fmt.Errorf("%s: %w: %w", about(r), metadata.ErrUnavailable, cause)
}

func about(r *Request) string {
	if r.Key == "" {
		return r.Operation.String()
	}
	return fmt.Sprintf("%s %s", r.Operation, r.Key)
}

// unreached says why there is no connection to a server.
type unreached struct {
	address string
	err     error
}

// Error names the address once: dialling names it too.
func (u *unreached) Error() string {
	return "connect to metadata store " + u.address + ": " + strings.TrimPrefix(u.err.Error(), "dial "+u.address+": ")
}

// Unwrap makes the class of the failure found.
func (u *unreached) Unwrap() error { return u.err }

// failed takes note of a connection that was not made, or has ended. Refusals are how many addresses have refused one after
// the other.
func (c *Client) failed(address string, err error, refusals int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.down = &unreached{address: address, err: err}
	if !c.config.GiveUpRefused || c.session != 0 || refusals < len(c.config.Addresses) {
		return
	}
	for _, k := range c.line {
		k.finish(Response{}, unsent(&k.request, c.down))
	}
	c.line = nil
}

package service

import (
	"fmt"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

// watched is a key that somebody here watches. The server knows it once, however many watches there are. Guarded by the
// client's mutex.
type watched struct{ watches []*watch }

func (w *watched) wake() {
	for _, each := range w.watches {
		each.told = true
		each.cond.Signal()
	}
}

// watch implements metadata.Watch.
type watch struct {
	client *Client
	key    string
	cond   host.Cond
	told   bool
	closed bool
}

// Watch implements metadata.Store.
func (c *Client) Watch(key string, g host.Group) (metadata.Watch, error) {
	if err := metadata.ValidateKey(key); err != nil {
		return nil, fmt.Errorf("watch %s: %w", key, err)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closing {
		return nil, unsent(&Request{Operation: Watch, Key: key}, host.ErrClosed)
	}
	keys := c.watches[key]
	if keys == nil {
		if len(c.watches) >= c.config.WatchesMax {
			return nil, fmt.Errorf("watch %s: %d keys are watched: %w", key, len(c.watches), metadata.ErrLimit)
		}
		keys = &watched{}
		c.watches[key] = keys
		c.unsettle(key)
	}
	w := &watch{client: c, key: key, cond: g.NewCond(c.mutex)}
	keys.watches = append(keys.watches, w)
	return w, nil
}

// unsettle has the writer tell the server about a key, if there is a connection; a new one starts with all keys. The
// mutex must be held.
func (c *Client) unsettle(key string) {
	l := c.link
	if l == nil || l.waits[key] {
		return
	}
	if len(l.unsettled) >= unsettledFactor*c.config.WatchesMax {
		c.forgetSettled(l)
	}
	l.waits[key] = true
	l.unsettled = append(l.unsettled, key)
	c.work.Signal()
}

// unsettledFactor times the keys that may be watched is how many a link remembers to tell the server of.
const unsettledFactor = 4

// forgetSettled drops the keys whose watch came and went while nothing could be sent.
func (c *Client) forgetSettled(l *link) {
	l.unsettled = slices.DeleteFunc(l.unsettled, func(key string) bool {
		_, wanted := c.watches[key]
		if wanted != l.registered[key] {
			return false
		}
		delete(l.waits, key)
		return true
	})
}

// told wakes whoever watches a key. The mutex must be held.
func (c *Client) told(key string) {
	if keys := c.watches[key]; keys != nil {
		keys.wake()
	}
}

// Wait implements metadata.Watch.
func (w *watch) Wait() bool {
	w.client.mutex.Lock()
	defer w.client.mutex.Unlock()
	for !w.over() && !w.told {
		if !w.cond.Wait() {
			return false
		}
	}
	return w.take()
}

// WaitFor implements metadata.Watch.
func (w *watch) WaitFor(d time.Duration) host.Woke {
	h := w.client.h
	w.client.mutex.Lock()
	defer w.client.mutex.Unlock()
	for deadline := h.Elapsed() + d; !w.over() && !w.told; {
		left := deadline - h.Elapsed()
		if left <= 0 {
			return host.TimedOut
		}
		if w.cond.WaitFor(left) == host.Stopping {
			return host.Stopping
		}
	}
	if !w.take() {
		return host.Stopping
	}
	return host.Signalled
}

func (w *watch) over() bool { return w.closed || w.client.ended }

func (w *watch) take() bool {
	w.told = false
	return !w.over()
}

// Close implements metadata.Watch.
func (w *watch) Close() {
	c := w.client
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	w.cond.Broadcast()
	keys := c.watches[w.key]
	keys.watches = slices.DeleteFunc(keys.watches, func(each *watch) bool { return each == w })
	if len(keys.watches) == 0 {
		delete(c.watches, w.key)
		c.unsettle(w.key)
	}
}

package client

import "lakebed/engine/host"

// NewBudget makes a budget of bytes.
func NewBudget(h host.Host, bytes int64) *budget { return newBudget(h, h.Root(), bytes) }

// Take takes one byte of the budget, for a writer that is never refused.
func (b *budget) Take() error { return b.take(1, func() {}, func() error { return nil }) }

// Give gives it back.
func (b *budget) Give() { b.give(1) }

// Busy is how many writers have adds under way, as the client counts them.
func (c *Client) Busy() int64 { return c.busy.Load() }

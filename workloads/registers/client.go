package registers

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
	"lakebed/model"
	"lakebed/workloads/agenda"
)

// Client is one sequential caller of a store, beside a watch that it has on one register. What it does is what its agenda says.
type Client struct {
	agenda.Walk
	lab      *Lab
	h        host.Host
	group    host.Group
	store    metadata.Store
	number   int
	patience time.Duration
	versions map[int]metadata.Version // last seen, by register
}

// NewClient makes a client whose tasks belong to g. pace is the mean time between two of its operations, patience how long it
// waits for one.
func NewClient(h host.Host, g host.Group, lab *Lab, store metadata.Store, number int, pace, patience time.Duration) *Client {
	return &Client{
		Walk: lab.agenda.Walk(number, pace), lab: lab, h: h, group: g, store: store, number: number, patience: patience,
		versions: map[int]metadata.Version{},
	}
}

// Run works until the group stops. When the lab is finished it goes on pausing, as it does between steps that its agenda does not
// want.
func (c *Client) Run() {
	for c.Next(c.group) {
		if c.lab.over() {
			continue
		}
		m := &c.lab.mix
		action := func(weight int, do func()) agenda.Action {
			return agenda.Weighted(weight, c.Single(func() bool { do(); return true }))
		}
		c.Choose(
			action(m.Create, func() { c.write(model.RegisterCreate) }), action(m.Put, func() { c.write(model.RegisterPut) }),
			action(m.Delete, func() { c.write(model.RegisterDelete) }), action(m.Get, func() { c.get(c.register()) }),
			action(m.Sync, c.sync), action(m.Announce, c.announce),
		)
	}
}

func (c *Client) register() int { return c.IntN(c.lab.mix.Keys) }

func (c *Client) scope() *host.Scope { return host.Within(c.h, c.group, c.patience) }

// write does one write. One that is conditional goes by the version that the client saw last, or, now and then, by none.
func (c *Client) write(kind model.RegisterKind) {
	register := c.register()
	expected, known := c.versions[register]
	if !known || c.IntN(6) == 0 {
		expected = metadata.AnyVersion
	}
	op := Operation{Register: register, By: c.number}
	op.Kind, op.Value, op.Expected = kind, c.lab.value(), model.NoVersion
	if expected != metadata.AnyVersion && kind != model.RegisterCreate {
		op.Expected = model.MetadataVersion(expected)
	}
	data, token := fmt.Append(nil, op.Value), c.lab.begin(op)
	var version metadata.Version
	var err error
	switch kind {
	case model.RegisterCreate:
		version, err = c.store.Create(keyOf(register), data, metadata.Persistent, c.scope())
	case model.RegisterPut:
		version, err = c.store.Put(keyOf(register), data, expected, c.scope())
	case model.RegisterDelete:
		err = c.store.Delete(keyOf(register), expected, c.scope())
	}
	if err == nil {
		c.versions[register] = version
	}
	c.lab.end(token, outcomeOf(err), func(op *Operation) { op.Version = model.MetadataVersion(version) })
}

// outcomeOf is that of a write. What is neither done nor refused nor unknown was surely not done, as the errors promise.
func outcomeOf(err error) model.Outcome {
	switch {
	case err == nil:
		return model.OK
	case errors.Is(err, metadata.ErrOutcomeUnknown):
		return model.Unknown
	case errors.Is(err, metadata.ErrExist), errors.Is(err, metadata.ErrNotExist), errors.Is(err, metadata.ErrVersion):
		return model.Fenced
	}
	return model.Failed
}

// get reads a register. It returns what it holds, zero if it is not there, and an error if nobody knows.
func (c *Client) get(register int) (uint64, error) {
	op := Operation{Register: register, By: c.number}
	op.Kind = model.RegisterGet
	token := c.lab.begin(op)
	v, err := c.store.Get(keyOf(register), c.scope())
	if errors.Is(err, metadata.ErrNotExist) {
		c.lab.end(token, model.NoEntry, nil)
		return 0, nil
	}
	value := uint64(0)
	if err == nil {
		c.versions[register] = v.Version
		if value, err = strconv.ParseUint(string(v.Data), 10, 64); err != nil {
			value, err = strange, nil
		}
	}
	outcome := model.Found
	if err != nil {
		outcome = model.Failed
	}
	c.lab.end(token, outcome, func(op *Operation) { op.Value, op.Version = value, model.MetadataVersion(v.Version) })
	return value, err
}

// strange stands for bytes that nobody wrote.
const strange = ^uint64(0)

func (c *Client) sync() {
	op := Operation{Register: c.register(), By: c.number}
	op.Kind = model.RegisterSync
	token := c.lab.begin(op)
	outcome := model.OK
	if c.store.Sync(c.scope()) != nil {
		outcome = model.Failed
	}
	c.lab.end(token, outcome, nil)
}

// announce makes a key that must be gone soon after the client is.
func (c *Client) announce() {
	key := fmt.Sprintf("%s/client-%d-%d", PresentFolder, c.number, c.lab.value())
	_, _ = c.store.Create(key, nil, metadata.Ephemeral, c.scope()) // whether it was made is not what counts
}

// Look watches a register, looks whenever it is told to, and notes what it saw.
func (c *Client) Look() {
	register := c.number % c.lab.mix.Keys
	w, err := c.store.Watch(keyOf(register), c.group)
	if err != nil {
		return
	}
	defer w.Close()
	for more := true; more; more = w.Wait() {
		v, err := c.store.Get(keyOf(register), &host.Scope{Group: c.group})
		seen := Look{Client: c.number, Register: register}
		switch {
		case err == nil:
			if seen.Value, err = strconv.ParseUint(string(v.Data), 10, 64); err != nil {
				seen.Value = strange
			}
		case !errors.Is(err, metadata.ErrNotExist):
			continue // the connection was lost: the watch tells when there is another
		}
		c.lab.looked(seen)
	}
}

// Verify reads every register in a healed world, and returns what each holds; the error says which one cannot be read.
func (c *Client) Verify() ([]uint64, error) {
	held := make([]uint64, c.lab.mix.Keys)
	for register := range held {
		if err := c.store.Sync(c.scope()); err != nil {
			return nil, fmt.Errorf("sync before register %d: %w", register, err)
		}
		value, err := c.get(register)
		if err != nil {
			return nil, fmt.Errorf("read register %d: %w", register, err)
		}
		held[register] = value
	}
	return held, nil
}

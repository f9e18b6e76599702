package client

import (
	"fmt"
	"math/rand/v2"

	"lakebed/engine/bookkeeper/client/pool"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

// Client creates, writes, reads, recovers and deletes ledgers. All methods may be called from any task.
type Client struct {
	h       host.Host
	config  Config
	store   metadata.Store
	ledgers *metadata.Ledgers
	pool    *pool.Pool
	budget  *budget

	waits host.Group // what may be cut short by Close: pauses, calls of the store, watches
	tasks host.Group // writers, and waiting for answers of bookies, which always come: from the pool if from nobody else

	mutex  host.Mutex
	idle   host.Cond  // Close waits for the calls under way
	random *rand.Rand // chooses bookies
	// writableSeen is the last list of bookies that the store gave.
	writableSeen []ledger.BookieID
	calls        int
	writers      map[int64]*Writer
	busy         host.Counter // writers with adds under way
	entered      int64        // writers so far
	closed       bool
}

// New makes a client of the ledgers in a store. Its tasks are in children of g. The store stays the caller's, and must be
// closed after the client.
func New(h host.Host, g host.Group, store metadata.Store, config Config) (*Client, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	connections, err := pool.New(h, g, config.Pool)
	if err != nil {
		return nil, err
	}
	c := &Client{
		h: h, config: config, store: store, pool: connections, waits: g.New("client-waits"), tasks: g.New("client"),
		mutex: h.NewMutex("client"), random: h.Rand("client-placement"), writers: make(map[int64]*Writer),
		busy: h.NewCounter("client-busy"),
	}
	c.idle = c.tasks.NewCond(c.mutex)
	c.budget = newBudget(h, c.tasks, config.AppendBytesMax)
	c.ledgers = metadata.NewLedgers(h, c.waits, store, config.Ledgers)
	return c, nil
}

// Close ends everything and returns when no task is left. Writers are abandoned: their ledgers stay open, for recovery to
// close. Calls under way fail with ErrClientClosed or ErrUnavailable, appends with ErrOutcomeUnknown.
func (c *Client) Close() {
	c.mutex.Lock()
	c.closed = true
	var writers []*Writer
	for _, n := range host.SortedKeys(c.writers) {
		writers = append(writers, c.writers[n])
	}
	c.mutex.Unlock()
	c.waits.Stop()
	for _, w := range writers {
		w.Abandon()
	}
	c.pool.Close()
	c.mutex.Lock()
	for c.calls > 0 {
		c.idle.Wait()
	}
	c.mutex.Unlock()
	c.tasks.Wait()
	c.tasks.Stop()
	c.waits.Wait()
}

// begin counts a call, so that Close can wait for it.
func (c *Client) begin() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		return ErrClientClosed
	}
	c.calls++
	return nil
}

func (c *Client) end() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.calls--
	c.idle.Broadcast()
}

// enter registers a writer, whose tasks start next.
func (c *Client) enter(w *Writer) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		return ErrClientClosed
	}
	c.entered++
	w.number = c.entered
	c.writers[w.number] = w
	return nil
}

func (c *Client) leave(w *Writer) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.writers, w.number)
}

// scope bounds one call of the metadata store.
func (c *Client) scope() *host.Scope { return host.Within(c.h, c.waits, c.config.MetadataTimeout) }

func (c *Client) mark(point host.Point, id ledger.ID, entry ledger.EntryID, extra string) {
	if p := c.h.Probe(); p.Active() {
		p.Mark(host.Event{Name: point, A: int64(id), B: int64(entry), Extra: extra})
	}
}

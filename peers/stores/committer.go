package stores

import "sync"

// groupMax bounds a group: it is more than there are appenders.
const groupMax = 256

// committer is group commit for a log that has none: the first appender of a group waits for its turn, takes all that came
// meanwhile, and writes it for everybody. Who finds nobody there writes at once, alone, and allocates nothing: our own stores do so
// too, and the libraries are not to pay for a clumsier way.
type committer struct {
	write func(entries [][]byte) error

	turn  sync.Mutex // held while a group is written
	alone [1][]byte  // of who has the turn
	mutex sync.Mutex
	open  *group // takes entries, or nil
}

type group struct {
	entries [][]byte
	written chan struct{}
	err     error
}

func (c *committer) append(payload []byte) error {
	g, first := c.join(payload)
	if g == nil {
		defer c.turn.Unlock()
		c.alone[0] = payload
		return c.write(c.alone[:])
	}
	if !first {
		<-g.written
		return g.err
	}
	c.turn.Lock()
	c.mutex.Lock()
	if c.open == g {
		c.open = nil
	}
	c.mutex.Unlock()
	g.err = c.write(g.entries)
	c.turn.Unlock()
	close(g.written)
	return g.err
}

// join puts a payload into the open group, and says whether it is the first there. Nil: nobody is there, and the caller has the turn.
func (c *committer) join(payload []byte) (g *group, first bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.open == nil && c.turn.TryLock() {
		return nil, false
	}
	if first = c.open == nil; first {
		c.open = &group{written: make(chan struct{})}
	}
	g = c.open
	if g.entries = append(g.entries, payload); len(g.entries) == groupMax {
		c.open = nil
	}
	return g, first
}

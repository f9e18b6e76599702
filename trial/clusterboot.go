package trial

import (
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/model"
	"lakebed/sim"
	"lakebed/workloads/replicated"
)

// bootBookie is a bookie's process.
func (c *cluster) bootBookie(h host.Host, m *member) error {
	store, err := service.Connect(h, h.Root(), c.drawn.store)
	if err != nil {
		return err
	}
	err = node.Run(h, store, c.drawn.nodes[m.number])
	if closed := store.Close(); err == nil {
		err = closed
	}
	c.memoryIsBack(h, "bookie", err)
	return err
}

// bootClient is a client's process: one client, with its sessions.
func (c *cluster) bootClient(h host.Host, one *caller) error {
	return c.withClient(h, "client", func(engine *client.Client, store metadata.Store) {
		// Sessions wait in the root group, which the operator stops; their own group is there to be waited for.
		sessions := h.Root().New("sessions")
		for i := range c.drawn.sessions {
			s := replicated.NewSession(h, h.Root(), c.lab, engine, clientID(one.number, i), c.options.Scenario.pace())
			s.UseBare(replicated.Bare{Store: store, Channel: c.drawn.client.Pool.Channel, Notices: true})
			sessions.Go("session", s.Run)
		}
		sessions.Wait()
	})
}

// withClient has f use a client and its session of the store, and takes everything down again.
func (c *cluster) withClient(h host.Host, whose string, f func(*client.Client, metadata.Store)) error {
	store, err := service.Connect(h, h.Root(), c.drawn.store)
	if err != nil {
		return err
	}
	engine, err := client.New(h, h.Root(), store, c.drawn.client)
	if err != nil {
		return fmt.Errorf("%w, and closing the metadata store: %w", err, store.Close())
	}
	f(engine, store)
	engine.Close()
	err = store.Close()
	c.memoryIsBack(h, whose, err)
	return err
}

// bootVerifier is a new client that looks at everything once more.
func (c *cluster) bootVerifier(h host.Host) error {
	return c.withClient(h, "verifier", func(engine *client.Client, store metadata.Store) {
		s := replicated.NewSession(h, h.Root(), c.lab, engine, clientID(len(c.clients), 0), time.Millisecond)
		stuck, _ := s.Verify()
		for _, one := range stuck {
			c.judgeStuck(one)
		}
		c.unbreak()
		c.writeAnew(s)
		c.probeHolders(h, store)
	})
}

// writeAnew: a cluster of which as many bookies are whole as an ensemble needs takes new ledgers, whatever it went through.
// Doubt about what a bookie lost is settled with the metadata, and must not outlive that.
func (c *cluster) writeAnew(s *replicated.Session) {
	whole := 0
	for _, m := range c.bookies {
		if !m.refused && !m.wounded {
			whole++
		}
	}
	if whole < c.drawn.quorum.Ensemble {
		return
	}
	if !s.WriteAnew() {
		c.find(Stalled, "liveness", "a healed cluster takes no new ledger", fmt.Sprintf(
			"%d of %d bookies are whole, the quorums are %s", whole, len(c.bookies), quorumText(c.drawn.quorum)))
	}
}

// judgeStuck: a ledger that a core which suffices does not recover is a broken promise, unless there are reasons. Bookies
// that lost media, or are away, are at most Qa-1; together with others that do not know what they lost, they may be more
// than a recovery can do without.
func (c *cluster) judgeStuck(one replicated.Stuck) {
	silent, doubtful := 0, 0
	for _, m := range c.bookies {
		switch {
		case m.refused || m.broken || m.wounded:
			silent++
		case m.limbo:
			doubtful++
		}
	}
	if silent > 0 && doubtful > 0 {
		c.marks.Hit(MarkExcused)
		return
	}
	c.find(Stalled, "liveness", "a healed cluster does not recover a ledger", fmt.Sprintf(
		"ledger %d of a cluster of %d bookies with quorums %s, of which %d are away or damaged and %d in doubt: %v",
		one.Ledger, len(c.bookies), quorumText(c.drawn.quorum), silent, doubtful, one.Err))
}

// marked takes in a mark of any node. The driver comes last: it may crash the node that made the mark.
func (c *cluster) marked(n *sim.Node, e host.Event) {
	c.noteDamage()
	c.marks.Hit(string(e.Name))
	if state := c.rare.see(n.Name(), e); state != "" {
		c.marks.Hit(state)
	}
	ofBookie := false
	for _, m := range c.bookies {
		if m.node == n {
			ofBookie = true
			m.scrub.see(c.world.Elapsed(), e, c.driver.Damage)
		}
	}
	if !ofBookie {
		if text := c.dials.see(n, &e, c.world.Elapsed()); text != "" {
			c.find(Violation, "liveness", "a client dials again without a pause", text)
			c.world.Stop() // it might go on like this for ever
		}
	}
	switch e.Name {
	case client.PointAcked:
		c.notice(n, model.NoticeAcked, e)
	case client.PointClosed:
		c.notice(n, model.NoticeClosed, e)
	case bookie.PointServing, bookie.PointLimbo, bookie.PointFailed:
		for _, m := range c.bookies {
			if m.node == n {
				m.serving = m.serving || e.Name == bookie.PointServing
				m.limbo = m.limbo || e.Name == bookie.PointLimbo
				m.failing = m.failing || e.Name == bookie.PointFailed && c.phase < finishing
			}
		}
	}
	c.driver.OnMark(n, string(e.Name), c.naming(&e))
}

// notice records what a client told of a ledger. A ledger has one writer, which lives in one process.
func (c *cluster) notice(n *sim.Node, kind model.NoticeKind, e host.Event) {
	number := len(c.clients)
	for _, one := range c.clients {
		if one.node == n {
			number = one.number
		}
	}
	told := model.Notice{
		Ledger: model.LedgerID(e.A), Entry: model.EntryID(e.B), Writer: model.Handle(n.Epoch()),
		Client: clientID(number, 0), Kind: kind,
	}
	if kind == model.NoticeAcked {
		c.lab.Recorder.NoticeAcked(told, e.Extra)
		return
	}
	c.lab.Recorder.Notice(told, nil)
}

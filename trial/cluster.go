package trial

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/faults"
	"lakebed/internal/invariant"
	"lakebed/model"
	"lakebed/sim"
	"lakebed/trial/oracle"
	"lakebed/workloads/agenda"
	"lakebed/workloads/replicated"
)

// Phases of a cluster's trial, after working.
const (
	// finishing: a core that suffices is whole, the rest stays broken; sessions end what they do.
	finishing = healed
	// closing: the verifier has seen everything, and the bookies are told to stop.
	closing = done + 1
)

// cluster is one trial of many nodes under way.
type cluster struct {
	options  Options
	drawn    clusterDraw
	dials    dialWatch
	world    *sim.World
	driver   *faults.Driver
	oracle   *oracle.Oracle
	metadata *sim.Node
	verifier *sim.Node
	bookies  []*member
	clients  []*caller
	agenda   *agenda.Agenda
	lab      *replicated.Lab
	marks    *model.Marks
	rare     *rareStates
	ledgers  map[ledger.ID]ledger.Metadata // as they were last written
	atlas    *atlas
	writes   int // of the store that were seen
	rand     *rand.Rand
	phase    phase
	wounds   int // places where the plan has damaged media, as far as the history knows
	findings []Finding
	excused  []Finding
	verdict  Verdict
}

// member is a bookie.
type member struct {
	node    *sim.Node
	number  int
	address string
	wounded bool // the plan damaged its media
	wiped   bool // its disks were emptied
	refused bool // it does not take its directories any more, and stays down
	limbo   bool // it has been in doubt about what it lost
	broken  bool // it belongs to the rest that is not healed
	serving bool
	early   bool // its process began while faults still fired
	failing bool // a fault ended its service while faults still fired, and it has not gone yet
	scrub   *scrubWatch
}

// caller is a client's node.
type caller struct {
	node     *sim.Node
	number   int
	finished bool // its sessions have ended because the work is done, or have none
}

func newCluster(o Options) *cluster {
	c := &cluster{
		options: o, drawn: drawCluster(&o), agenda: o.agenda(), marks: model.NewMarks(), verdict: OK,
		rand: sim.Stream(o.Seed, "trial/course"),
	}
	c.dials = newDialWatch(&c.drawn.client.Pool)
	config := c.drawn.world
	config.Trace, config.Observer, config.Look = o.Trace, o.Observer, o.Course.look()
	c.world = sim.New(config)
	c.lab = replicated.NewLab(c.drawn.mix, c.agenda)
	c.oracle = oracle.New(sim.Stream(o.Seed, "trial/oracle-course"), c.drawn.oracle)
	c.lab.Recorder.Follow(c.writtenMetadata)
	c.watch()
	c.rare = newRareStates(func(id int64) bool { return c.lab.Recorder.Appending(model.LedgerID(id)) })
	c.ledgers = map[ledger.ID]ledger.Metadata{}
	c.atlas = newAtlas(c.drawn.quorum.Ack-1, c.drawn.allowance.Fragile)
	c.addNodes()
	plan := c.drawn.plan
	if o.Plan != nil {
		plan = *o.Plan
	}
	c.driver = faults.NewDriver(c.world, plan, faults.Actions{Restart: c.start, Wipe: c.wipe, Allow: c.mayLose})
	if o.Plan == nil { // an explicit plan holds what chance decided
		c.driver.UseChance(faults.SwarmChance())
	}
	c.world.OnMark(c.marked)
	c.world.SetPerhaps(func(n *sim.Node, p host.Point) bool { return perhaps(c.driver, c.marks, n, p) })
	return c
}

func (c *cluster) addNodes() {
	c.metadata = c.world.NewNode(metadataNode)
	c.metadata.SetDaemon(true)
	for i := range c.drawn.bookies {
		m := &member{node: c.world.NewNode(bookieName(i)), number: i, address: bookieAddressOf(i), scrub: newScrubWatch(bookieName(i))}
		m.node.Disk(bookie.JournalVolume).SetProfile(c.drawn.disk)
		m.node.Disk(bookie.LedgerVolume).SetProfile(c.drawn.disk)
		m.node.SetMemoryLimit(bookieMemoryAllowed(&c.drawn.nodes[i]))
		m.node.OnExit(func(err error, crashed bool) { c.bookieExited(m, err, crashed) })
		c.bookies = append(c.bookies, m)
	}
	for i := range c.options.Scenario.Clients {
		one := &caller{node: c.world.NewNode(clientName(i)), number: i, finished: c.idle(i)}
		one.node.OnExit(func(err error, crashed bool) { c.clientExited(one, err, crashed) })
		c.clients = append(c.clients, one)
	}
	c.verifier = c.world.NewNode(verifierNode)
	c.verifier.OnExit(func(err error, _ bool) { c.verified(err) })
}

// idle reports whether none of a client's sessions has anything to do.
func (c *cluster) idle(number int) bool {
	for i := range c.drawn.sessions {
		if !c.agenda.Absent(int(clientID(number, i))) {
			return false
		}
	}
	return true
}

// runAll lets the world run from its first event to its verdict.
func (c *cluster) runAll() Result {
	limit := c.options.work() + c.options.Reduction.healedLimit()
	if c.options.Until > 0 {
		limit = c.options.Until
	}
	c.world.At(0, func() {
		c.start(metadataNode)
		for _, m := range c.bookies {
			c.start(m.node.Name())
		}
	})
	c.world.At(clientsStart, func() {
		for _, one := range c.clients {
			c.start(one.node.Name())
		}
	})
	c.world.At(c.options.work(), c.heal)
	return c.result(c.world.Run(limit))
}

// start boots a node unless it runs, or is to stay down.
func (c *cluster) start(name string) {
	c.noteDamage()
	n := c.world.Node(name)
	if n.Running() || c.phase == done {
		return
	}
	if n == c.metadata {
		n.Start(c.oracle.Boot)
		return
	}
	for _, m := range c.bookies {
		if m.node == n && !m.refused && !m.broken && c.phase != closing {
			m.early = c.phase < finishing
			n.Start(func(h host.Host) error { return c.bootBookie(h, m) })
		}
	}
	for _, one := range c.clients {
		if one.node == n && !one.finished {
			n.Start(func(h host.Host) error { return c.bootClient(h, one) })
		}
	}
}

// wipe puts empty disks into a bookie, as the plan wants it.
func (c *cluster) wipe(name string) {
	for _, volume := range []string{bookie.JournalVolume, bookie.LedgerVolume} {
		v := c.world.Node(name).Disk(volume)
		cookie := cookieOf(v.Model())
		v.Replace(0)
		if c.options.Scenario.Cluster.ForgedCookies {
			err := forgeCookie(v.Model(), cookie)
			invariant.Checkf(err == nil, "an empty disk takes a cookie: %v", err)
		}
	}
}

// noteDamage tells the history of media that was damaged since the last look; see run.noteDamage.
func (c *cluster) noteDamage() {
	wounds := c.driver.Damage()
	for _, w := range wounds[c.wounds:] {
		if !c.drawn.allowance.Fragile[w.Node] {
			continue // entry by entry, when the atlas granted it
		}
		for _, m := range c.bookies {
			if m.node.Name() != w.Node {
				continue
			}
			m.wiped = m.wiped || w.Volume == ""
			if !m.wounded {
				m.wounded = true
				c.lab.Recorder.Damaged(model.Node(m.address))
			}
		}
	}
	c.wounds = len(wounds)
}

// bookieExited goes on after a bookie's process has ended. One that ended by itself is started again, as an operator
// does; one that refuses its directories must have a reason that the plan gave it.
func (c *cluster) bookieExited(m *member, err error, crashed bool) {
	if crashed {
		c.bookieCrashed(m)
	}
	met := m.early && !m.serving || m.failing
	m.serving, m.failing = false, false
	c.noteDamage()
	if err != nil && bookie.IsRefusal(err) {
		c.bookieRefused(m, err)
		return
	}
	switch {
	case c.phase == closing && met:
		c.closed(m, nil) // a fault has met its start or its service, whose end took longer than the healed world had to do
	case c.phase == closing:
		c.closed(m, err)
	case !crashed && err != nil && c.phase != done:
		c.marks.Hit(MarkEndedByItself)
		c.world.At(selfRestart, func() { c.start(m.node.Name()) })
	}
}

func (c *cluster) bookieCrashed(m *member) {
	if !m.serving {
		c.marks.Hit(MarkReplayCut)
	}
	if state := c.rare.crashed(m.address); state != "" {
		c.marks.Hit(state)
	}
}

// bookieRefused takes a bookie out for good. That is the answer that is wanted of one that lost what it held: whatever
// it said about entries would be wrong.
func (c *cluster) bookieRefused(m *member, err error) {
	if !m.wounded {
		c.find(Refused, "restart", "a bookie refused its directories although nothing was damaged", fmt.Sprintf("%s: %v", m.address, err))
	}
	m.refused = true
	c.marks.Hit(MarkRefused)
	if m.wiped {
		c.marks.Hit(MarkWipedRefused)
	}
	if c.phase == closing {
		c.closed(m, nil)
	}
}

// clientExited goes on after a client's process has ended.
func (c *cluster) clientExited(one *caller, err error, crashed bool) {
	c.lab.Recorder.Died(func(id model.ClientID) bool { return clientOf(id) == one.number })
	switch {
	case crashed:
		return // the plan brings it back
	case err != nil && !errors.Is(err, host.ErrStopping):
		c.world.At(selfRestart, func() { c.start(one.node.Name()) })
	case c.phase == finishing:
		one.finished = true
		c.verifyWhenFinished()
	}
}

// verifyWhenFinished starts the verifier after the last client.
func (c *cluster) verifyWhenFinished() {
	for _, one := range c.clients {
		if !one.finished {
			return
		}
	}
	c.phase = verifying
	c.verifier.Start(c.bootVerifier)
}

// verified stops the bookies after the last look.
func (c *cluster) verified(err error) {
	if err != nil {
		c.find(Stalled, "liveness", "the verifier failed in a world that is healed", err.Error())
	}
	c.phase = closing
	for _, m := range c.bookies {
		m.node.Stop()
	}
	c.closeWhenDown()
}

// closed looks at how a bookie ended that was told to stop.
func (c *cluster) closed(m *member, err error) {
	if err != nil && !m.wounded {
		c.find(Stalled, "liveness", "a healed bookie did not stop cleanly", fmt.Sprintf("%s: %v", m.address, err))
	}
	c.closeWhenDown()
}

func (c *cluster) closeWhenDown() {
	for _, m := range c.bookies {
		if m.node.Running() {
			return
		}
	}
	c.watchesAreGone()
	c.phase = done
	c.world.Stop()
}

// watchesAreGone looks for watches that the metadata store keeps for connections which have ended.
func (c *cluster) watchesAreGone() {
	if stray := c.oracle.StrayWatchers(); stray > 0 {
		c.find(LeftOver, "memory", "watches are left of connections that have ended", fmt.Sprintf("%d watchers", stray))
	}
}

func (c *cluster) find(verdict Verdict, checker, signature, text string) {
	if c.verdict == OK {
		c.verdict = verdict
	}
	c.findings = append(c.findings, Finding{Checker: checker, Signature: signature, Text: text})
}

// waitingFor says what a healed world has not finished.
func (c *cluster) waitingFor() string {
	switch c.phase {
	case finishing:
		return "sessions do not end"
	case verifying:
		return "the verifier does not end"
	case closing:
		return "bookies do not stop"
	}
	return "the world is at work"
}

// result asks the checkers and puts everything together.
func (c *cluster) result(world sim.Verdict) Result {
	if world.Failed() && c.options.Until == 0 {
		verdict, text := c.worldVerdict(world), world.String()
		if verdict == Stalled {
			text = c.unfinished() + text
		}
		c.find(verdict, "world", fmt.Sprintf("%v: %s", world.Kind, c.worldSignature(world)), text)
	}
	c.options.tellPassage(c.agenda, c.driver)
	history := c.lab.Recorder.History()
	if c.options.History != nil {
		c.options.History(history)
	}
	for _, v := range model.CheckCluster(history) {
		if c.options.Scenario.excuses(&v, c.wounds) {
			c.marks.Hit(MarkLossUnnoticed)
			c.excused = append(c.excused, Finding{Checker: v.Checker, Signature: v.Signature, Text: v.Explanation})
			continue
		}
		c.options.Course.accuse(len(c.findings), v.Ops)
		c.violated(&v, history)
	}
	for _, m := range c.bookies {
		for _, f := range m.scrub.judge() {
			c.find(Violation, f.Checker, f.Signature, f.Text)
		}
	}
	c.tellCourse(history)
	damage := damageDone(c.driver)
	var image uint64
	for _, m := range c.bookies {
		for _, volume := range []string{bookie.JournalVolume, bookie.LedgerVolume} {
			image = image*31 + m.node.Disk(volume).Model().ImageHash()
		}
	}
	return Result{
		Scenario: c.options.Scenario.Name, Seed: c.options.Seed, Scheduler: c.drawn.world.Policy.String(), Verdict: c.verdict, Findings: explained(c.findings, damage),
		Hash: world.Hash, Events: world.Events, Image: image, Simulated: world.At,
		Operations: c.lab.Recorder.Operations(), Answers: c.lab.Recorder.Answers(),
		Effects: c.world.Effects(), Marks: counts(c.marks), Plan: c.driver.Fired(),
		Excused: c.excused, Damage: damage,
	}
}

func (c *cluster) worldVerdict(world sim.Verdict) Verdict {
	switch world.Kind {
	case sim.Panic:
		return Crashed
	case sim.LeftoverTasks:
		return LeftOver
	}
	return Stalled
}

// worldSignature names a stall after what it keeps from ending, since the world's own words are of time alone.
func (c *cluster) worldSignature(world sim.Verdict) string {
	if world.Kind == sim.TimeLimit || world.Kind == sim.Deadlock {
		return c.waitingFor()
	}
	return world.Message
}

// memoryIsBack looks for buffers that a process which ended cleanly did not give back.
func (c *cluster) memoryIsBack(h host.Host, whose string, err error) {
	if left := h.Memory().InUse(); err == nil && left != 0 {
		c.find(LeftOver, "memory", "buffers are left after a clean close of a "+whose, fmt.Sprintf("%d bytes are in use", left))
	}
}

// sessionsMax bounds the sessions of a client, so that a history's client ids tell which node they belong to.
const sessionsMax = 100

func clientID(number, session int) model.ClientID {
	return model.ClientID(number*sessionsMax + session)
}

func clientOf(id model.ClientID) int { return int(id) / sessionsMax }

// clientsStart is when clients come up: the bookies have mostly registered by then.
const clientsStart = 60 * time.Millisecond

package trial

import (
	"time"

	"lakebed/sim"
	"lakebed/sim/disk"
)

// heal ends the phase of faults. A core that suffices for every promise is made whole; the rest, as many bookies as
// recovery can do without, those that lost media included, goes or stays down, or is cut off: faults that all heal at the same time hide what
// waits for the wrong node (simulation.md 3.5).
func (c *cluster) heal() {
	c.driver.Heal()
	c.options.Course.healed(c.world.Elapsed())
	c.oracle.Heal(c.world.Elapsed())
	c.lab.Finish()
	c.phase = finishing
	c.noteDamage()
	c.breakRest()
	for _, n := range c.world.Nodes() {
		if n != c.verifier {
			c.start(n.Name())
		}
	}
	c.verifyWhenFinished() // where no client has anything to do, none will end
}

// breakRest draws the bookies that are not healed, and in which way they are away.
func (c *cluster) breakRest() {
	away, doubtful := 0, false
	for _, m := range c.bookies {
		if m.wounded || m.refused || c.drawn.allowance.Fragile[m.node.Name()] {
			away++
		}
		doubtful = doubtful || m.limbo
	}
	most := c.drawn.awayMax() - away - c.atlas.most() // who is away has no copy to give either
	if most <= 0 || doubtful && c.rand.IntN(4) > 0 {
		return // with others in doubt, a recovery may rightly wait for all of them
	}
	for _, i := range c.rand.Perm(len(c.bookies))[:c.rand.IntN(most+1)] {
		m := c.bookies[i]
		if !c.drawn.allowance.Fragile[m.node.Name()] {
			c.breakMember(m)
		}
	}
}

func (c *cluster) breakMember(m *member) {
	m.broken = true
	c.marks.Hit(MarkCoreOnly)
	switch c.rand.IntN(4) {
	case 0:
		m.node.Crash(sim.KillProcess())
	case 1:
		m.node.Crash(sim.PowerCut(disk.Mixed))
	case 2:
		m.node.Pause()
	default:
		oneWay := c.rand.IntN(2) == 0
		for _, n := range c.world.Nodes() {
			if n != m.node {
				c.world.Net().Partition(m.node.Name(), n.Name(), oneWay)
			}
		}
	}
}

// settlePause is how long the bookies that come back last get until they are asked what they hold.
const settlePause = 2 * time.Second

// unbreak brings the rest back.
func (c *cluster) unbreak() {
	c.world.Net().HealAll()
	for _, m := range c.bookies {
		if m.broken {
			m.broken = false
			m.node.Resume()
			c.world.At(0, func() { c.start(m.node.Name()) })
		}
	}
}

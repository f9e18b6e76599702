package sim

import (
	"time"

	"lakebed/engine/host"
)

// samplePermille is how often Probe.Sample says yes: enough that a campaign checks everything, rare enough to be cheap.
const samplePermille = 50

// probe is a host.Probe.
type probe struct {
	process *process
	sample  dice
}

func (b *probe) Active() bool {
	b.process.enter()
	return true
}

func (b *probe) Sample() bool {
	b.process.enter()
	return b.sample.permille(samplePermille)
}

// Perhaps counts a visit and asks the plan.
func (b *probe) Perhaps(point host.Point) bool {
	p := b.process
	p.enter()
	p.node.visit(point)
	w := p.world
	if w.perhaps == nil {
		return false
	}
	w.hooks++
	yes := w.perhaps(p.node, point)
	p.afterHook()
	if yes {
		w.noteText(actPerhaps, p.node, string(point), 0, 0)
	}
	return yes
}

// Mark counts a visit, folds the event into the trace and tells whoever listens. It may not return: the listener may
// crash the node at this very point.
func (b *probe) Mark(e host.Event) {
	p := b.process
	p.enter()
	p.node.visit(e.Name)
	w := p.world
	text := string(e.Name)
	if e.Extra != "" {
		text += " " + e.Extra
	}
	w.noteText(actMark, p.node, text, e.A, e.B)
	if w.onMark != nil {
		w.hooks++
		w.onMark(p.node, e)
		p.afterHook()
	}
}

// LogLine is one line that a node logged.
type LogLine struct {
	At      time.Duration
	Level   host.Level
	Message string
	Fields  []host.Field
}

// Log folds the message into the trace. Fields are left out: their text is the trial's to make, and costs too much here.
func (p *process) Log(level host.Level, message string, fields ...host.Field) {
	p.enter()
	w := p.world
	w.noteText(actLog, p.node, message, int64(level), int64(len(fields)))
	if w.onLog != nil {
		line := LogLine{At: w.now, Level: level, Message: message, Fields: fields}
		w.hooks++
		w.onLog(p.node, line)
		p.afterHook()
	}
}

// OnMark has f told of every event that a node marks. f runs inside the marking task and may crash its node.
func (w *World) OnMark(f func(*Node, host.Event)) { w.onMark = f }

// SetPerhaps has f decide whether a rare branch is taken. Without it none ever is.
func (w *World) SetPerhaps(f func(*Node, host.Point) bool) { w.perhaps = f }

// OnLog has f told of every line that a node logs.
func (w *World) OnLog(f func(*Node, LogLine)) { w.onLog = f }

package sim

import (
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// Kind is how a world ended.
type Kind uint8

const (
	// Finished: the trial stopped the world, or nothing but daemons was left.
	Finished Kind = iota
	// TimeLimit: virtual time ran out. Whether that is a failure is for the trial to say.
	TimeLimit
	// Panic: a task or a callback panicked.
	Panic
	// Goexit: a task called runtime.Goexit.
	Goexit
	// Deadlock: nothing can ever run again, and a node that is no daemon still waits.
	Deadlock
	// Livelock: too many events in all, or a task that never waits.
	Livelock
	// NoTimeAdvance: too many events at one instant.
	NoTimeAdvance
	// LeftoverTasks: boot returned before its tasks did.
	LeftoverTasks
	// MemoryLimit: a node had too many buffers in hand.
	MemoryLimit
)

var kindNames = [...]string{"finished", "time limit", "panic", "goexit", "deadlock", "livelock", "no time advance", "leftover tasks", "memory limit"}

func (k Kind) String() string { return kindNames[k] }

// Wait is one task that was left at the end, and where it was.
type Wait struct {
	Node, Task string
	For        string // "lock journal", "read peer b:1"
	Stack      string // of the task itself; empty beyond the first stacksMax
}

// Verdict is the outcome of a run.
type Verdict struct {
	Kind    Kind
	Node    string // whose fault it is, as far as the world can tell
	Task    string
	Message string
	Stack   string // the panicking task's own

	Seed   uint64
	At     time.Duration
	Events int64
	Hash   uint64
	Waits  []Wait   // every task that was left, unless Finished
	Recent []string // the last events, unless Finished
}

// stacksMax bounds how many tasks are asked for their stack: it takes some fifty microseconds each.
const stacksMax = 64

// Failed reports whether the run ended in another way than the trial asked for.
func (v *Verdict) Failed() bool { return v.Kind != Finished }

// Summary is the verdict in one line.
func (v *Verdict) Summary() string {
	where := joinWords(v.Node, v.Task)
	if where != "" {
		where = " in " + where
	}
	message := v.Message
	if message != "" {
		message = ": " + message
	}
	return fmt.Sprintf("%s%s%s (seed %d, at %s, after %d events)", v.Kind, where, message, v.Seed, seconds(v.At), v.Events)
}

// String is the verdict with everything that helps to understand it.
func (v *Verdict) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, v.Summary())
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n%s:\n%s\n", title, strings.TrimRight(text, "\n"))
		}
	}
	section("stack", v.Stack)
	var waits, stacks strings.Builder
	for _, w := range v.Waits {
		fmt.Fprintf(&waits, "  %-10s %-32s waits for %s\n", w.Node, w.Task, w.For)
		if w.Stack != "" {
			fmt.Fprintf(&stacks, "%s %s:\n%s\n", w.Node, w.Task, w.Stack)
		}
	}
	section("tasks", waits.String())
	section("last events", strings.Join(v.Recent, "\n"))
	section("stacks", stacks.String())
	return b.String()
}

// fail ends the world at the next turn. The first failure counts: what follows it may be its consequence.
func (w *World) fail(v Verdict) {
	if w.failure == nil && !w.ended {
		w.failure = &v
	}
}

// guard runs a callback of the trial and turns its panic into a verdict.
func (w *World) guard(name string, f func()) {
	defer func() {
		if value := recover(); value != nil {
			w.fail(Verdict{Kind: Panic, Task: name, Message: fmt.Sprint(value), Stack: string(debug.Stack())})
		}
	}()
	f()
}

// waits describes every task that is left, in the order in which they were started.
func (w *World) waits() []Wait {
	var all []Wait
	for _, n := range w.nodes {
		if n.process == nil {
			continue
		}
		for k := n.process.tasks.first; k != nil; k = k.next {
			all = append(all, w.describe(k.task, len(all) < stacksMax))
		}
	}
	return all
}

func (w *World) describe(t *task, withStack bool) Wait {
	d := Wait{Node: t.process.node.name, Task: t.label(), For: joinWords(t.wait.kind, t.wait.name)}
	switch {
	case t.coroutine == nil:
		d.For = "its first turn"
		return d
	case t.state == taskReady:
		d.For = "its turn, after " + d.For
	case t.state == taskHeld:
		d.For = "the end of a pause, after " + d.For
	}
	if withStack && t.state != taskStuck {
		w.dumping = true
		w.current = t
		t.coroutine.next()
		w.current = nil
		w.dumping = false
		d.Stack = t.stack
	}
	if strings.Contains(d.Stack, "\npanic(") {
		d.For += ", in a deferred call while panicking"
	}
	return d
}

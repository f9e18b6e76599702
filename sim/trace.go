package sim

import (
	"fmt"
	"io"
	"math/bits"
	"time"
	"unsafe"
)

// action is what a trace event says happened.
type action uint8

const (
	actStep action = iota // a task goes on, with the reason for which it woke
	actCallback
	actNodeStart
	actNodeExit
	actNodeCrash
	actNodePause
	actNodeResume
	actNodeStop
	actClockJump
	actTaskStart
	actTaskEnd
	actMark
	actPerhaps
	actLog
	actDisk
	actDial
	actAccept
	actSend
	actReceive
	actBreak
	actNetFault
	actRemark // only in what is written
)

var actionNames = [...]string{
	"step", "callback", "start", "exit", "crash", "pause", "resume", "stop", "clock jump", "new task", "end", "mark", "perhaps", "log",
	"disk", "dial", "accept", "send", "receive", "break", "net fault", "client",
}

// record is one trace event. It is kept in binary; text costs more than the event itself.
type record struct {
	at   time.Duration
	node *Node // nil: the world itself
	task *task // nil: no task
	what action
	text string // of the caller's; must not depend on addresses or real time
	a, b int64
}

// trace folds events into a hash, keeps the last few, and formats them where somebody asked for text.
type trace struct {
	hash     uint64
	events   int64
	recent   []record // ring; events%len is the next place
	writer   io.Writer
	sparing  bool // leaves out what the scheduler does; see WithoutSteps
	observer *Observer
	onlooker onlooker
	texts    textHashes
}

// WithoutSteps makes a Config.Trace that is spared the scheduler's own lines: tasks that go on, and callbacks. They are
// half of all. The hash and the count of events are the same.
func WithoutSteps(w io.Writer) io.Writer { return sparingWriter{w} }

// sparingWriter is told apart by its type, so that lines nobody reads are never put into words.
type sparingWriter struct{ io.Writer }

func (t *trace) writeTo(w io.Writer) {
	t.writer = w
	if s, ok := w.(sparingWriter); ok {
		t.writer, t.sparing = s.Writer, true
	}
}

// shows reports whether an event gets a line.
func (t *trace) shows(what action) bool {
	return t.writer != nil && !(t.sparing && (what == actStep || what == actCallback))
}

// textHashes remembers the hashes of texts that come again: points and paths do, event after event. An entry keeps its
// text alive, so that equal addresses mean equal texts. Nothing but time depends on what is remembered.
type textHashes [64]struct {
	text string
	hash uint64
}

func (h *textHashes) of(text string) uint64 {
	start := unsafe.StringData(text)
	e := &h[(uintptr(unsafe.Pointer(start))>>4^uintptr(len(text)))%uintptr(len(h))]
	if unsafe.StringData(e.text) != start || len(e.text) != len(text) {
		e.text, e.hash = text, hashName(0, text)
	}
	return e.hash
}

const traceMultiplier = 0x9fb21c651e98df25 // odd, with bits well spread

// fold mixes one word into the hash; every bit of the old hash reaches the new one.
func fold(hash, word uint64) uint64 {
	return bits.RotateLeft64((hash^word)*traceMultiplier, 29)
}

func (t *trace) add(r *record) {
	subject := uint64(r.what) << 56
	if r.node != nil {
		subject |= uint64(r.node.index+1) << 40
	}
	if r.task != nil {
		subject ^= uint64(r.task.id)
	}
	h := fold(fold(fold(fold(t.hash, uint64(r.at)), subject), uint64(r.a)), uint64(r.b))
	if r.text != "" {
		h = fold(h, t.texts.of(r.text))
	}
	t.hash = h
	if len(t.recent) > 0 {
		t.recent[t.events&int64(len(t.recent)-1)] = *r
	}
	t.events++
	if t.shows(r.what) {
		fmt.Fprintln(t.writer, r.String())
	}
	if t.observer != nil {
		t.observer.see(t.events, h, r)
	}
	if t.onlooker.look != nil {
		t.onlooker.see(r)
	}
}

// last returns the most recent events as text, oldest first.
func (t *trace) last() []string {
	kept := min(t.events, int64(len(t.recent)))
	lines := make([]string, 0, kept)
	for i := t.events - kept; i < t.events; i++ {
		lines = append(lines, t.recent[i&int64(len(t.recent)-1)].String())
	}
	return lines
}

// String is one line: time, node, task, what.
func (r *record) String() string {
	node, who := "world", "-"
	if r.node != nil {
		node = r.node.name
	}
	if r.task != nil {
		who = r.task.label()
	}
	return fmt.Sprintf("%14s  %-10s %-28s %s", seconds(r.at), node, who, r.detail())
}

func (r *record) detail() string {
	name := actionNames[r.what]
	switch r.what {
	case actStep:
		return name + " after " + wokeNames[r.a]
	case actRemark, actTaskEnd, actNodeStop, actCallback, actNodeExit:
		return joinWords(name, r.text)
	case actNodeStart:
		return fmt.Sprintf("%s %s epoch %d", name, r.text, r.a)
	case actDisk:
		return fmt.Sprintf("%s %s at %d length %d", DiskKind(r.a>>56), r.text, r.a&(1<<56-1), r.b>>32)
	default:
		if r.a == 0 && r.b == 0 { // mostly an event that has no numbers
			return joinWords(name, r.text)
		}
		return fmt.Sprintf("%s %d %d", joinWords(name, r.text), r.a, r.b)
	}
}

func joinWords(a, b string) string {
	if b == "" {
		return a
	}
	return a + " " + b
}

// seconds shows a virtual time with all its nanoseconds, so that lines sort and differ where the events do.
func seconds(d time.Duration) string {
	return fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second)
}

// Tracing reports whether a trace is written: whether remarks are worth their words.
func (w *World) Tracing() bool { return w.trace.writer != nil }

// Remark writes a line of the trial's own between the events, under this node and the task that runs. It is no event:
// neither the hash nor the counts nor an Observer know of it. Without a trace it does nothing.
func (w *World) Remark(n *Node, text string) {
	if w.trace.writer == nil {
		return
	}
	r := record{at: w.now, node: n, task: w.current, what: actRemark, text: text}
	fmt.Fprintln(w.trace.writer, r.String())
}

func (w *World) note(what action, n *Node, t *task, a, b int64) {
	w.trace.add(&record{at: w.now, node: n, task: t, what: what, a: a, b: b})
}

func (w *World) noteText(what action, n *Node, text string, a, b int64) {
	w.trace.add(&record{at: w.now, node: n, task: w.current, what: what, text: text, a: a, b: b})
}

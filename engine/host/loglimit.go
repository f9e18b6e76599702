package host

import (
	"fmt"
	"time"
)

// LogBound is how many lines with one message a LogLimit lets through.
type LogBound struct {
	Lines    int           // in one interval, besides two that tell of what is left out
	Interval time.Duration // from the first of them
}

// DefaultLogBound shows an operator what goes on, and takes less than 10 MB a day of a disk.
func DefaultLogBound() LogBound { return LogBound{Lines: 20, Interval: time.Minute} }

// Validate reports a bound that cannot work.
func (b LogBound) Validate() error {
	if b.Lines < 1 || b.Interval <= 0 {
		return fmt.Errorf("%d log lines in %v: must be positive", b.Lines, b.Interval)
	}
	return nil
}

// LogLimit is a log for lines that strangers can cause as often as they like: whoever reaches the port could fill the
// log's disk otherwise. Lines are told apart by their message, so messages are constants of the code and what a stranger
// sends stands in fields. All methods may be called from any task.
type LogLimit struct {
	h       Host
	bound   LogBound
	mutex   Mutex
	windows map[string]*logWindow // by message
}

// logWindow is an interval of one message.
type logWindow struct {
	level   Level
	since   time.Duration
	lines   int64 // those that were left out included
	leftOut int64
}

// NewLogLimit makes a log with a bound, which must be valid.
func NewLogLimit(h Host, bound LogBound) *LogLimit {
	return &LogLimit{h: h, bound: bound, mutex: h.NewMutex("log-limit"), windows: make(map[string]*logWindow)}
}

// Log is Host.Log up to the bound, and for Debug lines, which go nowhere unless somebody asked for them. Otherwise the first
// line that is left out is replaced by one that says so; how many there were is told by the first line after the interval,
// or by End.
func (l *LogLimit) Log(level Level, message string, fields ...Field) {
	if level <= Debug {
		l.h.Log(level, message, fields...)
		return
	}
	leftOut, place := l.count(level, message)
	if leftOut > 0 {
		l.tell(level, message, leftOut)
	}
	switch {
	case place <= int64(l.bound.Lines):
		l.h.Log(level, message, fields...)
	case place == int64(l.bound.Lines)+1:
		l.h.Log(level, "more log lines like the last are left out for a while", F("message", message), F("interval", l.bound.Interval))
	}
}

// count returns the line's place in its interval, from 1, and what was left out of the one before if it begins a new one.
func (l *LogLimit) count(level Level, message string) (leftOut int64, place int64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.h.Elapsed()
	w := l.windows[message]
	if w == nil {
		w = &logWindow{since: now}
		l.windows[message] = w
	}
	w.level = level
	if now-w.since >= l.bound.Interval {
		leftOut = w.leftOut
		w.since, w.lines, w.leftOut = now, 0, 0
	}
	w.lines++
	if w.lines > int64(l.bound.Lines) {
		w.leftOut++
	}
	return leftOut, w.lines
}

func (l *LogLimit) tell(level Level, message string, leftOut int64) {
	l.h.Log(level, "log lines were left out", F("message", message), F("lines", leftOut))
}

// End tells what was left out and not told yet.
func (l *LogLimit) End() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, message := range SortedKeys(l.windows) {
		if w := l.windows[message]; w.leftOut > 0 {
			l.tell(w.level, message, w.leftOut)
			w.leftOut = 0
		}
	}
}

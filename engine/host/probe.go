package host

// Point names a place where the engine lets the world choose a rare but legal branch. Constants live beside the code
// that asks, as "package.what".
type Point string

// Event tells the world that something worth knowing happened on this node. Events feed campaign marks (was this rare
// state ever reached?), checkers, and the triggers of fault plans (crash at the third visit of this point).
type Event struct {
	Name  Point
	A, B  int64 // the subject, as the event's own documentation says: ledger and entry, sequence, bytes
	Extra string
}

// Probe links the engine to the laboratory. On a real machine it is inert: Active is false, Perhaps and Sample answer
// false and Mark does nothing.
//
// A Mark or Perhaps may be the last thing a task does: the simulator may crash the node at it.
type Probe interface {
	// Active says whether anybody listens: ask before building an expensive Event.
	Active() bool
	// Perhaps asks whether to take the rare branch at p.
	Perhaps(p Point) bool
	Mark(e Event)
	// Sample says whether an expensive invariant should be checked now.
	Sample() bool
}

// Level is the severity of a log line.
type Level int8

// Levels, as in log/slog.
const (
	Debug Level = -4
	Note  Level = 0
	Warn  Level = 4
	Error Level = 8
)

// Field is one key and value of a log line. Values are numbers, strings, errors, durations or Stringers whose text
// does not depend on addresses or the real clock.
type Field struct {
	Key   string
	Value any
}

// F makes a Field.
func F(key string, value any) Field { return Field{key, value} }

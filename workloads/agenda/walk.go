package agenda

import (
	"time"

	"lakebed/engine/host"
)

// Walk is the way of one client through its agenda, in one life of its process. Rand gives the numbers of the operation
// that it has come to.
type Walk struct {
	Stream
	agenda *Agenda
	client int
	step   int
	pace   time.Duration
}

// Walk goes on where the client's last life has ended. pace is the mean pause between two of its steps.
func (a *Agenda) Walk(client int, pace time.Duration) Walk {
	return Walk{Stream: a.Stream(client), agenda: a, client: client, pace: pace}
}

// Next pauses until it is time for the next step that the agenda wants. A step that it does not want costs its pause, so
// that the others stay where they are. False: the group stops, or nothing is wanted of this client at all.
func (w *Walk) Next(g host.Group) bool {
	for !w.Absent() {
		w.step = w.agenda.Upcoming(w.client)
		w.Begin(w.step, 0)
		// An exponential pause with a bound, so that a client neither spins nor falls asleep.
		pause := time.Duration(w.ExpFloat64() * float64(w.pace))
		if !g.Sleep(min(pause, 10*w.pace)) {
			return false
		}
		w.agenda.Take(w.client)
		if w.agenda.Wants(w.client, w.step) {
			return true
		}
	}
	return false
}

// Absent reports whether nothing is wanted of this client.
func (w *Walk) Absent() bool { return w.agenda.Absent(w.client) }

// Step is the number of the step that the client has come to.
func (w *Walk) Step() int { return w.step }

// Does goes to the numbers of a part of the step, and reports whether the agenda wants it done.
func (w *Walk) Does(part int) bool {
	w.Begin(w.step, part)
	return w.agenda.Does(Op{Client: w.client, Step: w.step, Part: part})
}

// Action is one thing that a client may do next. It returns false when the client cannot go on.
type Action struct {
	weight int
	do     func() bool
}

// Weighted is an action with its weight among others.
func Weighted(weight int, do func() bool) Action { return Action{weight: weight, do: do} }

// Single makes a step of one operation, which is its first part.
func (w *Walk) Single(do func() bool) func() bool {
	return func() bool { return !w.Does(1) || do() }
}

// Choose does one of the actions, chosen by weight. False: the client cannot go on.
func (w *Walk) Choose(actions ...Action) bool {
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	if total == 0 {
		return true
	}
	at := w.IntN(total)
	for _, a := range actions {
		if at -= a.weight; at < 0 {
			return a.do()
		}
	}
	return true
}

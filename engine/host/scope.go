package host

import "time"

// Scope bounds an operation: by a deadline on Host.Elapsed, by a group whose stop cancels it, or both. A nil *Scope and
// a zero Deadline mean no bound. A context.Context is adapted to it at the public edge, in oshost.
type Scope struct {
	Deadline time.Duration // on Host.Elapsed; zero: none
	Group    Group         // its Stop cancels; nil: never
}

// Within makes a scope that ends d from now, or when g stops.
func Within(h Host, g Group, d time.Duration) *Scope {
	return &Scope{Deadline: h.Elapsed() + d, Group: g}
}

// Err is nil while the scope lasts, ErrStopping once it is cancelled, ErrTimeout once its deadline has passed.
func (s *Scope) Err(elapsed time.Duration) error {
	if s == nil {
		return nil
	}
	if s.Group != nil && s.Group.Stopping() {
		return ErrStopping
	}
	if s.Deadline != 0 && elapsed >= s.Deadline {
		return ErrTimeout
	}
	return nil
}

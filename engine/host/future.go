package host

// Future is a value that one task sets once and others wait for.
type Future[T any] struct {
	gate  Gate
	mutex Mutex
	set   bool
	value T
	err   error
}

// NewFuture makes an empty future. Its waiters wake when g stops.
func NewFuture[T any](h Host, g Group, name string) *Future[T] {
	return &Future[T]{gate: g.NewGate(), mutex: h.NewMutex(name)}
}

// Set gives the outcome. Only the first call counts; it reports whether it was the first.
func (f *Future[T]) Set(value T, err error) bool {
	f.mutex.Lock()
	if f.set {
		f.mutex.Unlock()
		return false
	}
	f.set, f.value, f.err = true, value, err
	f.mutex.Unlock()
	f.gate.Open()
	return true
}

// Wait returns the outcome, or ErrStopping if the group stops before there is one.
func (f *Future[T]) Wait() (T, error) {
	if !f.gate.Wait() {
		var none T
		return none, ErrStopping
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.value, f.err
}

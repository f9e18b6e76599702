package processes

import "runtime"

// nursery starts children from one thread that lives as long as it does. The kernel sends a child its parent-death signal
// when the thread that started it ends, and the runtime ends threads when it likes (golang/go#27505).
type nursery struct {
	starts chan start
	ended  chan struct{}
}

type start struct {
	f    func() error
	done chan error
}

func newNursery() *nursery {
	n := &nursery{starts: make(chan start), ended: make(chan struct{})}
	go n.run()
	return n
}

func (n *nursery) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(n.ended)
	for s := range n.starts {
		s.done <- s.f()
	}
}

// do runs f on the thread.
func (n *nursery) do(f func() error) error {
	s := start{f, make(chan error, 1)}
	n.starts <- s
	return <-s.done
}

func (n *nursery) close() {
	close(n.starts)
	<-n.ended
}

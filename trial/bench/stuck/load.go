package stuck

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
)

// load is several writers that append as fast as they are let.
type load struct {
	client  *client.Client
	create  client.CreateOptions
	payload []byte
	ops     int           // of one writer, a few more than its window: the window is what holds it back
	ledger  time.Duration // after so long a writer turns to a new ledger

	writers sync.WaitGroup
	done    chan struct{} // closed: begin nothing new

	mutex    sync.Mutex
	appended int64
	failed   int64
	each     []*returner // of the writers
	writing  map[*client.Writer]bool
	ledgers  int
	changes  int // of the ensembles of ledgers that are closed
	problem  error
}

func (l *load) start(writers int) {
	l.done, l.writing = make(chan struct{}), map[*client.Writer]bool{}
	for range writers {
		r := &returner{load: l, ops: make(chan *client.Op, l.ops), last: time.Now()}
		for range l.ops {
			r.ops <- &client.Op{Done: r}
		}
		l.each = append(l.each, r)
		l.writers.Go(func() { l.write(r.ops) })
	}
}

// stop has the writers close their ledgers.
func (l *load) stop() error {
	close(l.done)
	l.writers.Wait()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.problem
}

func (l *load) ending() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// createPause is between attempts to create a ledger.
const createPause = 50 * time.Millisecond

// write fills one ledger after the other.
func (l *load) write(ops chan *client.Op) {
	for !l.ending() {
		w, err := l.client.Create(l.create)
		if err != nil {
			l.note(nil, fmt.Errorf("create a ledger: %w", err))
			time.Sleep(createPause)
			continue
		}
		l.begun(w)
		l.fill(w, ops)
		awaitAll(ops)
		err = w.Close()
		if errors.Is(err, client.ErrClosed) { // the writer had to end before: a ledger less, and its appends were counted
			err = nil
		}
		l.note(w, err)
	}
}

// fill appends to one ledger until its time is over, or it takes nothing more.
func (l *load) fill(w *client.Writer, ops chan *client.Op) {
	until := time.Now().Add(l.ledger)
	for !l.ending() && time.Now().Before(until) {
		op := <-ops
		if err := w.Append(l.payload, op); err != nil {
			ops <- op
			return
		}
	}
}

// awaitAll waits until no append is under way: a ledger that is closed ends behind the last acknowledged one, and fails the
// others.
func awaitAll(ops chan *client.Op) {
	back := make([]*client.Op, 0, cap(ops))
	for range cap(ops) {
		back = append(back, <-ops)
	}
	for _, op := range back {
		ops <- op
	}
}

func (l *load) begun(w *client.Writer) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.writing[w] = true
}

// note takes a ledger that is over into account, or that there is none.
func (l *load) note(w *client.Writer, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if w != nil {
		l.ledgers++
		l.changes += changesOf(w)
		delete(l.writing, w)
	}
	if l.problem == nil {
		l.problem = err
	}
}

func changesOf(w *client.Writer) int { return len(w.Metadata().Fragments) - 1 }

// allChanges counts those of open ledgers too. The mutex must be held.
func (l *load) allChanges() int {
	all := l.changes
	for w := range l.writing {
		all += changesOf(w)
	}
	return all
}

// returner counts one writer's appends and gives them back to it. There is room for all of them: it never waits.
type returner struct {
	load *load
	ops  chan *client.Op

	// Guarded by the load's mutex.
	last  time.Time     // of the last acknowledgement
	pause time.Duration // the longest between two, since the phase began
}

func (r *returner) Appended(op *client.Op) {
	l := r.load
	now := time.Now()
	l.mutex.Lock()
	if op.Err != nil {
		l.failed++
	} else {
		l.appended++
		r.pause = max(r.pause, now.Sub(r.last))
		r.last = now
	}
	l.mutex.Unlock()
	r.ops <- op
}

// firstMost is how long the first acknowledgement may take while no disk hangs. A machine that is busy with other things
// may not get to it in a short phase.
const firstMost = 30 * time.Second

// phase lets time pass and says what was acknowledged meanwhile. It waits besides, up to a time from its begin, until
// something was.
func (l *load) phase(d, until time.Duration) Phase {
	begun := time.Now()
	l.mutex.Lock()
	appended, failed, changes := l.appended, l.failed, l.allChanges()
	for _, r := range l.each {
		r.pause = 0
	}
	l.mutex.Unlock()
	time.Sleep(d)
	for time.Since(begun) < until && l.acknowledged() == appended {
		time.Sleep(10 * time.Millisecond)
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var pause time.Duration
	for _, r := range l.each { // a pause that has not ended counts: a writer that stands still for good has the longest
		pause = max(pause, r.pause, time.Since(r.last))
	}
	return Phase{
		Seconds: time.Since(begun).Seconds(), Appended: l.appended - appended, Failed: l.failed - failed,
		Changes: l.allChanges() - changes, LongestPauseSeconds: pause.Seconds(),
	}
}

func (l *load) acknowledged() int64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.appended
}

// createOptions are those of the ledgers that are written.
func createOptions(q ledger.Quorum) client.CreateOptions {
	o := client.DefaultCreateOptions()
	o.Quorum = q
	return o
}

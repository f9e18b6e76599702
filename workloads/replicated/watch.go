package replicated

import (
	"maps"
	"slices"
	"time"

	"lakebed/model"
)

// Watcher lets whoever runs a trial see its operations as they happen.
type Watcher struct {
	// Clock is the time that stamps are shown with.
	Clock func() time.Duration
	// Begun and Ended may be nil. They are called under the recorder's lock, and must not call it or the engine. Entries
	// are as the engine counts them, also where the history counts otherwise. found is how many entries a read answered.
	Begun func(op model.ClusterOp)
	Ended func(op model.ClusterOp, found int)
}

// Watch is to be called before the first operation: stamps given earlier have no time.
func (r *Recorder) Watch(w Watcher) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.watcher = w
	r.stamps.Watch(w.Clock)
}

// Time is when a stamp was given. False: nobody watches, or there is no such stamp.
func (r *Recorder) Time(at model.Stamp) (time.Duration, bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.stamps.Time(at)
}

// worked notes which ledger a session is at. The ledger of a create has no name before it succeeds.
func (r *Recorder) worked(op *model.ClusterOp) {
	c := r.chapters[op.Client]
	if c == nil || op.Kind == model.LedgerCreate && op.Outcome != model.OK {
		return
	}
	c.ledger, c.worked = op.Ledger, true
}

func (r *Recorder) tellBegun(op *model.ClusterOp) {
	r.worked(op)
	if r.watcher.Begun != nil {
		r.watcher.Begun(*op)
	}
}

func (r *Recorder) tellEnded(op *model.ClusterOp, found int) {
	r.worked(op)
	if r.watcher.Ended != nil {
		r.watcher.Ended(*op, found)
	}
}

// chapter is what a session is about.
type chapter struct {
	name   string
	since  time.Duration
	ledger model.LedgerID // of the last operation
	worked bool           // there was one
}

// Chapter notes what a session is about from now on. An empty name says that it has ended.
func (r *Recorder) Chapter(session model.ClientID, name string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if name == "" {
		delete(r.chapters, session)
		return
	}
	c := &chapter{name: name}
	if r.watcher.Clock != nil {
		c.since = r.watcher.Clock()
	}
	r.chapters[session] = c
}

// Unfinished is a session that has not ended.
type Unfinished struct {
	Session model.ClientID
	Chapter string // what it is about; empty: it is in no chapter
	Since   time.Duration
	Ledger  model.LedgerID // of its last operation in the chapter
	Worked  bool           // there was one
	Ops     []Pending      // that have not ended, in the order of their calls
}

// Pending is an operation that has not ended.
type Pending struct {
	Op    model.ClusterOp
	Since time.Duration
}

// Unfinished lists the sessions that have not ended, by their number. It knows nothing after History, which ends all.
func (r *Recorder) Unfinished() []Unfinished {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	sessions := map[model.ClientID]*Unfinished{}
	for id, c := range r.chapters {
		sessions[id] = &Unfinished{Session: id, Chapter: c.name, Since: c.since, Ledger: c.ledger, Worked: c.worked}
	}
	for _, token := range slices.Sorted(maps.Keys(r.open)) {
		op := r.open[token]
		s := sessions[op.Client]
		if s == nil {
			s = &Unfinished{Session: op.Client}
			sessions[op.Client] = s
		}
		since, _ := r.stamps.Time(op.Call)
		s.Ops = append(s.Ops, Pending{Op: op, Since: since})
	}
	var list []Unfinished
	for _, id := range slices.Sorted(maps.Keys(sessions)) {
		list = append(list, *sessions[id])
	}
	return list
}

package oracle

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/memory"
	"lakebed/engine/host"
)

// Oracle is the state of the store, and what it has done. It outlives its node's processes.
type Oracle struct {
	config Config
	random *rand.Rand

	mutex    sync.Mutex
	tree     *memory.Tree
	views    map[metadata.SessionID]memory.Index // the state that a session has reached
	reached  []moment
	late     []lateWrite // by the time when they are due
	outage   time.Duration
	healed   bool
	watchers memory.Watcher // the last one that was given out
	process  *process       // the one that serves now
	writes   []Write
	counts   map[host.Point]int64
	marks    []host.Event // used since the process last marked them
	moved    bool         // what concerns connections other than the one that asked, since the process last looked
}

// moment is when the state came to an index.
type moment struct {
	index memory.Index
	at    time.Duration
}

// Write is one change of a key.
type Write struct {
	At      time.Duration // virtual time
	Index   memory.Index  // the order of all changes. What belongs together has the same
	Session metadata.SessionID
	Peer    string    // the connection that asked; empty when a session expired
	Op      memory.Op // EndSession: the key was ephemeral
	Key     string
	Before  *memory.Node // nil: the key did not exist
	After   *memory.Node // nil: the key was deleted
	Late    bool         // after its client was cut
	Parent  bool         // the key was made on the way, as the parent of another
}

// lateWrite is a write whose client was cut, and which is still to be done.
type lateWrite struct {
	due     time.Duration
	command memory.Command
	peer    string
}

// New makes an empty store. The stream is the oracle's alone.
func New(stream *rand.Rand, config Config) *Oracle {
	return &Oracle{
		config: config, random: stream, tree: memory.New(config.Limits),
		views: make(map[metadata.SessionID]memory.Index), counts: make(map[host.Point]int64),
	}
}

// Heal ends all freedom: what is late is done or dropped, outages end, and reads are fresh from now on. now is the
// world's time. Notices that wait go out at the next request of anybody, which is a ping at the latest.
func (o *Oracle) Heal(now time.Duration) {
	o.mutex.Lock()
	for _, l := range o.late {
		if o.random.IntN(2) == 0 {
			o.doLate(l, now)
		}
	}
	o.late, o.outage, o.healed, o.moved = nil, 0, true, true
	o.mutex.Unlock()
}

// Get returns the present state of a key; nil if it does not exist.
func (o *Oracle) Get(key string) *memory.Node {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.tree.Get(key)
}

// Keys returns all keys, sorted.
func (o *Oracle) Keys() []string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.tree.Keys()
}

// Sessions returns the sessions that are alive, sorted.
func (o *Oracle) Sessions() []metadata.SessionID {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.tree.Sessions()
}

// Ledger is the metadata of a ledger as the store has it.
type Ledger struct {
	ID      ledger.ID
	Version metadata.Version
	Data    []byte
}

// Ledgers returns the ledgers of a cluster, by id.
func (o *Oracle) Ledgers(layout metadata.Layout) []Ledger {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	var all []Ledger
	for _, key := range o.tree.Keys() {
		if id, ok := layout.ParseLedgerKey(key); ok {
			n := o.tree.Get(key)
			all = append(all, Ledger{id, n.Version, n.Data})
		}
	}
	slices.SortFunc(all, func(a, b Ledger) int { return int(min(max(a.ID-b.ID, -1), 1)) })
	return all
}

// Writes returns every change of a key so far, in order.
func (o *Oracle) Writes() []Write {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return slices.Clone(o.writes)
}

// WritesSince returns the changes from the n-th on, counting from zero: what a checker has not seen yet.
func (o *Oracle) WritesSince(n int) []Write {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return slices.Clone(o.writes[min(n, len(o.writes)):])
}

// Counts says how often each freedom was used.
func (o *Oracle) Counts() map[host.Point]int64 {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return maps.Clone(o.counts)
}

// use counts a freedom. It is marked when the mutex is free again: a mark may end the process.
func (o *Oracle) use(p host.Point, session metadata.SessionID, b int64) {
	o.counts[p]++
	o.marks = append(o.marks, host.Event{Name: p, A: int64(session), B: b})
}

// chance says whether to use a freedom that has this rate.
func (o *Oracle) chance(permille int) bool {
	return permille > 0 && !o.healed && o.random.IntN(1000) < permille
}

// span draws a time up to a bound.
func (o *Oracle) span(most time.Duration) time.Duration {
	return time.Duration(o.random.Int64N(int64(max(most, 1))))
}

// apply does a command, writes it down and tells the watches. It is the only way in which keys change.
func (o *Oracle) apply(c memory.Command, peer string, late bool, now time.Duration) memory.Result {
	r := o.tree.Apply(c)
	if r.Err != nil {
		return r
	}
	o.moved = true
	o.reached = append(o.reached, moment{r.Index, now})
	if n := len(o.reached) - 2*o.config.Limits.HistoryChanges; n > 0 {
		o.reached = slices.Delete(o.reached, 0, n)
	}
	for _, change := range r.Changes {
		o.writes = append(o.writes, Write{
			At: now, Index: r.Index, Session: c.Session, Peer: peer, Op: c.Op, Key: change.Key,
			Before: change.Before, After: change.After, Late: late, Parent: c.Op == memory.Create && change.Key != c.Key,
		})
	}
	if c.Op == memory.EndSession {
		delete(o.views, c.Session)
	}
	if o.process != nil {
		o.process.announce(o.tree.Notices(r.Changes, nil), now)
	}
	return r
}

// view chooses the state that a session is read from next: at least what it has reached, and nothing too old.
func (o *Oracle) view(session metadata.SessionID, now time.Duration) memory.Index {
	newest := o.tree.Index()
	oldest := max(o.views[session], o.tree.Oldest(), o.indexAt(now-o.config.StaleMax))
	if oldest < newest && o.chance(o.config.StalePermille) {
		chosen := oldest + memory.Index(o.random.Int64N(int64(newest-oldest)))
		o.use(StaleRead, session, int64(newest-chosen))
		newest = chosen
	}
	o.views[session] = newest
	return newest
}

// indexAt is the index that the state had at a time.
func (o *Oracle) indexAt(at time.Duration) memory.Index {
	i := sort.Search(len(o.reached), func(i int) bool { return o.reached[i].at > at })
	if i == 0 {
		return 0
	}
	return o.reached[i-1].index
}

// doLate does a write whose client was cut. Where nothing of the session is needed it may have ended.
func (o *Oracle) doLate(l lateWrite, now time.Duration) {
	session := l.command.Session
	if l.command.Kind != metadata.Ephemeral && !o.tree.Alive(session) {
		l.command.Session = 0
	}
	if r := o.apply(l.command, l.peer, true, now); r.Err == nil {
		o.use(LateWrite, session, 0)
	}
}

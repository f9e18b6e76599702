package replicated

import (
	"slices"
	"strings"
	"sync"

	"lakebed/model"
	"lakebed/workloads/stamp"
)

// Recorder writes the history of a cluster. It may be used from tasks on real goroutines: its lock is never held across
// a call of the engine.
type Recorder struct {
	mutex   sync.Mutex
	history model.ClusterHistory
	stamps  stamp.Clock
	open    map[Token]model.ClusterOp // operations that have not ended
	token   Token
	handle  model.Handle
	answers map[answer]int64
	acked   []Acked
	written func() []Written // nil: nobody tells of metadata

	watcher  Watcher
	chapters map[model.ClientID]*chapter
}

// answer is how operations of a kind ended. It is counted for each, so its words are put together at the end only.
type answer struct {
	kind    model.ClusterKind
	outcome model.Outcome
}

// Written is a write of a ledger's metadata that took effect. Its stamp is given by the recorder.
type Written struct {
	Write     model.MetadataWrite
	Fragments []model.LedgerFragment
}

// Acked is an entry that some writer was told is stored.
type Acked struct {
	Ledger model.LedgerID
	Entry  model.EntryID
	Digest model.Digest
}

// NewRecorder starts an empty history. Opens may be served from old metadata: the weakest store allows it.
func NewRecorder() *Recorder {
	r := &Recorder{open: map[Token]model.ClusterOp{}, answers: map[answer]int64{}, chapters: map[model.ClientID]*chapter{}}
	r.history.StaleMetadata = true
	return r
}

// Token stands for an operation under way.
type Token int

// Handle gives a number to a writer or reader that is opened.
func (r *Recorder) Handle() model.Handle {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.handle++
	return r.handle
}

// Begin records that an operation starts now.
func (r *Recorder) Begin(op model.ClusterOp) Token {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	op.Call = r.next()
	r.token++
	r.open[r.token] = op
	r.tellBegun(&op)
	return r.token
}

// next is the stamp of something that happens now. What was written to the metadata store since the last stamp happened
// before it.
func (r *Recorder) next() model.Stamp {
	r.drain()
	return r.stamps.Next()
}

func (r *Recorder) drain() {
	if r.written == nil {
		return
	}
	for _, w := range r.written() {
		w = countedWrite(w)
		w.Write.At = r.stamps.Next()
		r.history.AppendMetadata(w.Write, w.Fragments)
	}
}

// Follow has the recorder ask for writes of metadata, in their order, before it gives a stamp.
func (r *Recorder) Follow(written func() []Written) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.written = written
}

// End records an outcome; fill, which may be nil and must not call the engine, adds what was answered. An operation of unknown outcome may still take
// effect at any time.
func (r *Recorder) End(t Token, outcome model.Outcome, fill func(op *model.ClusterOp)) {
	r.end(t, outcome, nil, fill)
}

// EndRead records the outcome of a read, and the entries that it found.
func (r *Recorder) EndRead(t Token, outcome model.Outcome, items []model.Item, fill func(op *model.ClusterOp)) {
	r.end(t, outcome, items, fill)
}

func (r *Recorder) end(t Token, outcome model.Outcome, items []model.Item, fill func(op *model.ClusterOp)) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	op, under := r.open[t]
	if !under {
		return // its client has died
	}
	delete(r.open, t)
	if fill != nil {
		fill(&op)
	}
	op.Outcome, op.Return = outcome, r.next()
	if outcome == model.Unknown {
		op.Return = model.Never
	}
	if op.Kind == model.LedgerAppend && outcome == model.OK {
		r.acked = append(r.acked, Acked{op.Ledger, op.Entry, op.Digest})
	}
	r.add(op, items)
}

func (r *Recorder) add(op model.ClusterOp, items []model.Item) {
	r.answers[answer{op.Kind, op.Outcome}]++
	r.tellEnded(&op, len(items))
	op, items = countedOp(op, items)
	if len(items) > 0 {
		r.history.AppendRead(op, items)
		return
	}
	r.history.Append(op)
}

// Drop leaves an operation out of the history: what came of it has no name in there. It is counted.
func (r *Recorder) Drop(t Token, outcome model.Outcome) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	op, under := r.open[t]
	if under {
		delete(r.open, t)
		r.answers[answer{op.Kind, outcome}]++
		op.Outcome, op.Return = outcome, model.Never
		r.tellEnded(&op, 0)
	}
}

// Died ends the operations of clients whose process has died: nobody will ever learn their outcome.
func (r *Recorder) Died(of func(model.ClientID) bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.cut(of)
	for id := range r.chapters {
		if of(id) {
			delete(r.chapters, id)
		}
	}
}

// cut goes by the order of the calls, so that the history does not depend on that of a map.
func (r *Recorder) cut(of func(model.ClientID) bool) {
	var tokens []Token
	for t := range r.open {
		if of(r.open[t].Client) {
			tokens = append(tokens, t)
		}
	}
	slices.Sort(tokens)
	for _, t := range tokens {
		op := r.open[t]
		delete(r.open, t)
		op.Outcome, op.Return = model.Unknown, model.Never
		if op.Kind == model.LedgerCreate {
			r.answers[answer{op.Kind, op.Outcome}]++
			r.tellEnded(&op, 0)
			continue // it has no name; see Drop
		}
		r.add(op, nil)
	}
}

// Appending reports whether appends to a ledger are under way.
func (r *Recorder) Appending(id model.LedgerID) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, op := range r.open {
		if op.Kind == model.LedgerAppend && op.Ledger == id {
			return true
		}
	}
	return false
}

// Notice records what the engine told of itself. The stamp is given here.
func (r *Recorder) Notice(n model.Notice, by []model.Node) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	n.At, n.Entry = r.next(), counted(n.Ledger, n.Entry)
	r.history.AppendNotice(n, by)
}

// NoticeAcked records that a writer acknowledged an entry. The bookies whose answers it counted are as client.PointAcked
// has them, separated by commas.
func (r *Recorder) NoticeAcked(n model.Notice, bookies string) {
	n.Kind = model.NoticeAcked
	var by []model.Node
	for id := range strings.SplitSeq(bookies, ",") {
		if id != "" {
			by = append(by, model.Node(id))
		}
	}
	r.Notice(n, by)
}

// Damaged records that media of a bookie were damaged on purpose. It may have hit anything.
func (r *Recorder) Damaged(node model.Node) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.history.AppendDamage(model.NodeDamage{At: r.next(), Node: node, Ledger: model.AnyLedger, Entry: model.AnyEntry})
}

// DamagedEntry records that one entry of a bookie was damaged on purpose.
func (r *Recorder) DamagedEntry(bookie string, ledger, entry int64) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	id := model.LedgerID(ledger)
	r.history.AppendDamage(model.NodeDamage{
		At: r.next(), Node: model.Node(bookie), Ledger: id, Entry: counted(id, model.EntryID(entry)),
	})
}

// Holding records what a bookie was found to hold.
func (r *Recorder) Holding(held model.Holding) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	held.Entry = counted(held.Ledger, held.Entry)
	r.history.AppendHolding(held)
}

// AckedEntries lists the entries that writers were told are stored, in the order in which they were told.
func (r *Recorder) AckedEntries() []Acked {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.acked)
}

// History ends what is open and returns the record.
func (r *Recorder) History() *model.ClusterHistory {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.drain()
	r.cut(func(model.ClientID) bool { return true })
	return &r.history
}

// Operations is how many operations were started.
func (r *Recorder) Operations() int64 {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return int64(r.token)
}

// Answers counts outcomes, by "kind outcome".
func (r *Recorder) Answers() map[string]int64 {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	counts := make(map[string]int64, len(r.answers))
	for a, n := range r.answers {
		counts[a.kind.String()+" "+a.outcome.String()] += n
	}
	return counts
}

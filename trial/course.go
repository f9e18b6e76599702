package trial

import (
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/faults"
	"lakebed/model"
	"lakebed/sim"
)

// Course is what happened in a trial, beside its Result: for whoever wants to show one trial closely. Look is the
// caller's; all else is filled in by Run. A trial with a Course has the same Result as one without.
type Course struct {
	// Look is told of what happens in the world; see sim.Config.Look. Nil: nobody looks.
	Look func(*sim.Sight)

	Nodes      []string // in the order in which they were made
	Firings    []faults.Firing
	Healed     time.Duration // when the faults ended; zero: never
	Ended      time.Duration
	Operations []ClientOperation // as the history has them
	Accused    map[int][]int     // by finding: the operations that contradict each other
	Metadata   []LedgerVersion   // of a cluster, in the order of the writes
	Holdings   []HeldCopy        // of a cluster, where the bookies were asked at the end
	// History is the cluster's, for other judges. Nil: the trial was of one bookie, or of another store.
	History *model.ClusterHistory
	// BookieHistory is that of the one bookie. Nil: the trial was of something else.
	BookieHistory *model.History
}

// ClientOperation is an operation of a client, with virtual times.
type ClientOperation struct {
	Node    string
	Client  int
	Kind    string
	Outcome string
	Ledger  int64 // NoSubject: none, as of a create that failed
	Entry   int64 // NoSubject: none that is known
	Last    int64 // of a read of several: the last one asked for, else as Entry
	Begin   time.Duration
	End     time.Duration // Never: nobody learned what came of it
	Text    string        // what was asked and answered, in words
}

// NoSubject is the ledger or entry of what has none.
const NoSubject = -1

// Never is the end of an operation that has none.
const Never time.Duration = -1

// LedgerVersion is what a ledger's metadata said from a moment on.
type LedgerVersion struct {
	At        time.Duration
	Ledger    int64
	Version   int64
	State     string // open, in-recovery, closed, gone
	Last      int64  // of a closed ledger; NoSubject: none
	Quorum    string
	Fragments []LedgerPart
	Late      bool // the write took effect after its client was cut off
}

// LedgerPart is a fragment: entries from First on are on these bookies.
type LedgerPart struct {
	First   int64
	Bookies []string
}

// HeldCopy is what a bookie said at the very end of an entry that it should have.
type HeldCopy struct {
	Bookie        string
	Ledger, Entry int64
	Outcome       string
}

func (o *Course) look() func(*sim.Sight) {
	if o == nil {
		return nil
	}
	return o.Look
}

func (o *Course) healed(at time.Duration) {
	if o != nil {
		o.Healed = at
	}
}

// accuse notes the operations that a finding is about.
func (o *Course) accuse(finding int, operations []int) {
	if o == nil {
		return
	}
	if o.Accused == nil {
		o.Accused = map[int][]int{}
	}
	o.Accused[finding] = operations
}

func (o *Course) world(w *sim.World, driver *faults.Driver) {
	for _, n := range w.Nodes() {
		o.Nodes = append(o.Nodes, n.Name())
	}
	o.Firings, o.Ended = driver.Firings(), w.Elapsed()
}

// tellCourse says what the clients of the one bookie did.
func (t *run) tellCourse(h *model.History) {
	o := t.options.Course
	if o == nil {
		return
	}
	o.world(t.world, t.driver)
	o.BookieHistory = h
	for i := range h.Ops {
		op := &h.Ops[i]
		told := ClientOperation{
			Node: t.clientNode(int(op.Client)), Client: int(op.Client), Kind: op.Kind.String(), Outcome: op.Outcome.String(),
			Ledger: int64(op.Ledger), Entry: int64(op.Entry), Last: int64(op.Entry), End: Never,
		}
		told.Begin, _ = t.lab.Recorder.Time(op.Call)
		if at, known := t.lab.Recorder.Time(op.Return); known {
			told.End = at
		}
		items := h.Items(i)
		switch op.Kind {
		case model.Fence, model.Delete:
			told.Entry, told.Last = NoSubject, NoSubject
		case model.List:
			told.Ledger, told.Entry, told.Last = NoSubject, NoSubject, NoSubject
		case model.LastEntry:
			if op.Outcome != model.Found {
				told.Entry, told.Last = NoSubject, NoSubject
			}
		case model.ReadRange:
			told.Last += int64(max(len(items)-1, 0))
		}
		told.Text = told.words(len(items))
		o.Operations = append(o.Operations, told)
	}
}

// clientNode is where a client of the one bookie lives: in the bookie's own process, unless it is remote.
func (t *run) clientNode(client int) string {
	if remote := client - t.options.Scenario.Clients - 1; remote >= 0 && remote < len(t.remotes) {
		return t.remotes[remote].Name()
	}
	return bookieNode
}

// words is an operation in a line.
func (op *ClientOperation) words(found int) string {
	text := op.Kind
	if op.Ledger != NoSubject {
		text += fmt.Sprintf(" ledger %d", op.Ledger)
	}
	switch {
	case op.Entry == NoSubject:
	case op.Last > op.Entry:
		text += fmt.Sprintf(", entries %d-%d", op.Entry, op.Last)
	default:
		text += fmt.Sprintf(", entry %d", op.Entry)
	}
	text += ": " + op.Outcome
	if found > 1 {
		text += fmt.Sprintf(" %d entries", found)
	}
	return text
}

// tellCourse says what the clients of the cluster did.
func (c *cluster) tellCourse(h *model.ClusterHistory) {
	o := c.options.Course
	if o == nil {
		return
	}
	o.world(c.world, c.driver)
	o.History = h
	for i := range h.Ops {
		o.Operations = append(o.Operations, c.tellOperation(h, i))
	}
	c.tellMetadata(o)
	for _, held := range h.Holdings {
		o.Holdings = append(o.Holdings, HeldCopy{
			Bookie: c.nodeAt(string(held.Node)), Ledger: int64(held.Ledger), Entry: int64(held.Entry), Outcome: held.Outcome.String(),
		})
	}
}

func (c *cluster) tellOperation(h *model.ClusterHistory, i int) ClientOperation {
	op := &h.Ops[i]
	told := ClientOperation{
		Node: c.nodeOf(op.Client).Name(), Client: int(op.Client), Kind: op.Kind.String(), Outcome: op.Outcome.String(),
		Ledger: int64(op.Ledger), Entry: NoSubject, Last: NoSubject, End: Never,
		Text: asked(op) + ": " + answered(op, len(h.Items(i))),
	}
	told.Begin, _ = c.lab.Recorder.Time(op.Call)
	if at, known := c.lab.Recorder.Time(op.Return); known {
		told.End = at
	}
	switch op.Kind {
	case model.LedgerRead:
		told.Entry, told.Last = int64(op.Entry), int64(op.Last)
	case model.LedgerBatchRead:
		told.Entry = int64(op.Entry)
		told.Last = told.Entry + int64(max(len(h.Items(i))-1, 0))
	case model.LedgerAppend, model.LedgerClose, model.LedgerRecover, model.LedgerConfirmed:
		if op.Outcome == model.OK && op.Entry >= 0 {
			told.Entry, told.Last = int64(op.Entry), int64(op.Entry)
		}
	}
	return told
}

// tellMetadata takes the versions from the store itself: it knows their times.
func (c *cluster) tellMetadata(o *Course) {
	writes := c.oracle.WritesSince(0)
	for i := range writes {
		w := &writes[i]
		id, isLedger := metadata.Layout{Root: metadata.DefaultRoot}.ParseLedgerKey(w.Key)
		if !isLedger || w.Parent {
			continue
		}
		v := LedgerVersion{At: w.At, Ledger: int64(id), State: model.LedgerGone.String(), Last: NoSubject, Late: w.Late}
		if w.Before != nil {
			v.Version = int64(w.Before.Version)
		}
		if w.After != nil {
			v.Version = int64(w.After.Version)
			if m, err := ledger.DecodeMetadata(w.After.Data); err == nil {
				c.describeVersion(&v, &m)
			}
		}
		o.Metadata = append(o.Metadata, v)
	}
}

func (c *cluster) describeVersion(v *LedgerVersion, m *ledger.Metadata) {
	v.State = model.LedgerState(m.State).String()
	if v.State == model.LedgerClosed.String() {
		v.Last = int64(m.LastEntry)
	}
	v.Quorum = quorumText(m.Quorum)
	for _, f := range m.Fragments {
		part := LedgerPart{First: int64(f.First)}
		for _, b := range f.Ensemble {
			part.Bookies = append(part.Bookies, c.nodeAt(string(b)))
		}
		v.Fragments = append(v.Fragments, part)
	}
}

// nodeAt is the name of the node at a bookie's address.
func (c *cluster) nodeAt(address string) string {
	for _, m := range c.bookies {
		if m.address == address {
			return m.node.Name()
		}
	}
	return address
}

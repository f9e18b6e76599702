package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lakebed/faults"
	"lakebed/trial"
)

// Limits bound a page.
type Limits struct {
	EventsMax   int // on the lanes
	AccusedMax  int // operations in the table of those that findings name
	EntriesMax  int // entries of which copies are told
	StepsMax    int // for each of them
	VersionsMax int // of metadata
	LastMax     int // lines for each node
	RefsMax     int // for each event; those in question come first
}

// DefaultLimits give a page of a few megabytes at most.
func DefaultLimits() Limits {
	return Limits{EventsMax: 20_000, AccusedMax: 24, EntriesMax: 6, StepsMax: 80, VersionsMax: 60, LastMax: 12, RefsMax: 40}
}

// Source is what a page is made of.
type Source struct {
	Scenario trial.Scenario
	Defect   string
	Result   *trial.Result
	Course   *trial.Course
	Recorder *Recorder
	Replay   string // the command that runs the trial again
	Reduced  bool   // the plan was made smaller since it was drawn
	Limits   Limits
	// From and Until choose the events on the lanes. Until zero: to the end.
	From, Until time.Duration
}

// builder puts a page together.
type builder struct {
	Source
	page       Page
	lanes      map[string]int
	events     []*raw
	ops        []*raw // by index in Course.Operations
	accused    map[*raw]bool
	accusedOps []*raw // by index in page.Accused
	subjects   []ref  // the entries in question
	ledgers    map[int64]bool
}

// New makes the page of a trial.
func New(s Source) *Page {
	b := &builder{Source: s, lanes: map[string]int{}, accused: map[*raw]bool{}, ledgers: map[int64]bool{}}
	r := s.Result
	b.page = Page{
		Verdict: string(r.Verdict), Failed: r.Failed(), Scenario: r.Scenario, About: s.Scenario.About, Seed: r.Seed, Defect: s.Defect,
		Hash: fmt.Sprintf("%016x", r.Hash), Ended: int64(s.Course.Ended), Healed: int64(s.Course.Healed), Replay: s.Replay, Reduced: s.Reduced,
		Title: fmt.Sprintf("Seed %d of %s", r.Seed, r.Scenario), Findings: []Finding{}, Accused: []Operation{}, Plan: []Fault{},
		Copies: []Copies{}, Metadata: []Version{}, Last: []Last{},
	}
	b.page.Sentence = b.sentence()
	for _, f := range r.Findings {
		b.page.Findings = append(b.page.Findings, Finding(f))
	}
	b.makeLanes()
	b.events = slices.Clone(s.Recorder.events)
	b.addOperations()
	b.addFaults()
	b.accuse()
	slices.SortStableFunc(b.events, func(x, y *raw) int { return cmp.Compare(x.at, y.at) })
	b.tellAway()
	b.tellCopies()
	b.tellMetadata()
	b.tellLast()
	b.place()
	return &b.page
}

// sentence is the verdict for a reader.
func (b *builder) sentence() string {
	r := b.Result
	where := fmt.Sprintf("seed %d of scenario %s", r.Seed, r.Scenario)
	if b.Defect != "" {
		where += " with the planted bug " + b.Defect
	}
	if !r.Failed() {
		return fmt.Sprintf("All promises held: %s, %d client operations in %s of virtual time.", where, r.Operations, rounded(b.Course.Ended))
	}
	if len(r.Findings) == 0 {
		return fmt.Sprintf("The trial failed (%s): %s.", r.Verdict, where)
	}
	first := r.Findings[0]
	text := fmt.Sprintf("Checker %s: %s (%s)", first.Checker, strings.TrimPrefix(first.Signature, first.Checker+": "), where)
	if n := len(r.Findings) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text + "."
}

func rounded(d time.Duration) string { return d.Round(time.Millisecond).String() }

// makeLanes puts clients above what they use, so that a request runs down the page.
func (b *builder) makeLanes() {
	roles := []string{"client", "metadata", "bookie", "store"}
	for _, role := range roles {
		for _, name := range b.Course.Nodes {
			if roleOf(name) == role {
				b.lanes[name] = len(b.page.Lanes)
				b.page.Lanes = append(b.page.Lanes, Lane{Name: name, Role: role})
			}
		}
	}
}

func roleOf(node string) string {
	switch {
	case strings.HasPrefix(node, "bookie"):
		return "bookie"
	case node == "metadata":
		return "metadata"
	case node == "store" || node == "broker":
		return "store"
	}
	return "client"
}

func (b *builder) addOperations() {
	for i := range b.Course.Operations {
		op := &b.Course.Operations[i]
		e := &raw{at: op.Begin, end: op.End, node: op.Node, kind: KindOperation, text: fmt.Sprintf("client %d: %s", op.Client, op.Text)}
		e.bad = op.End == trial.Never || !slices.Contains(goodOutcomes, op.Outcome)
		e.refs = refsOfOperation(op)
		b.ops = append(b.ops, e)
		b.events = append(b.events, e)
	}
}

// goodOutcomes are answers that say that all went well. Others may be right too, and are worth a look.
var goodOutcomes = []string{"ok", "found"}

// rangeRefsMax bounds the entries that one read is taken to be about.
const rangeRefsMax = 64

func refsOfOperation(op *trial.ClientOperation) []ref {
	if op.Ledger == trial.NoSubject {
		return nil
	}
	if op.Entry == trial.NoSubject {
		return []ref{{op.Ledger, wholeLedger}}
	}
	var refs []ref
	for e := op.Entry; e <= max(op.Last, op.Entry) && e-op.Entry < rangeRefsMax; e++ {
		refs = append(refs, ref{op.Ledger, e})
	}
	return refs
}

// addFaults shows the elements of the plan that fired as bars, and all of them as rows.
func (b *builder) addFaults() {
	fired := map[string]time.Duration{}
	for _, f := range b.Course.Firings {
		fired[f.ID] = f.At
	}
	for i := range b.Result.Plan.Elements {
		e := &b.Result.Plan.Elements[i]
		f := Fault{ID: e.ID, Kind: string(e.Kind), When: triggerWords(&e.Trigger), Where: targetWords(e), How: paramWords(&e.Params)}
		if at, did := fired[e.ID]; did {
			end := b.faultEnd(e, at)
			f.Fired, f.At, f.End = true, int64(at), int64(end)
			b.events = append(b.events, &raw{
				at: at, end: end, node: struckNode(e), peer: e.Target.Peer, kind: KindFault,
				text: strings.Join(strings.Fields(fmt.Sprintf("%s %s %s (%s)", f.Kind, f.Where, f.How, f.ID)), " "),
			})
		}
		b.page.Plan = append(b.page.Plan, f)
	}
}

func struckNode(e *faults.Element) string {
	switch {
	case e.Target.Node != "":
		return e.Target.Node
	case e.Trigger.Visit != nil:
		return e.Trigger.Visit.Node
	case e.Trigger.Operation != nil:
		return e.Trigger.Operation.Node
	}
	return ""
}

// faultEnd is how long a fault lasts. Healing ends all that still do.
func (b *builder) faultEnd(e *faults.Element, at time.Duration) time.Duration {
	end := at
	switch {
	case e.Params.For > 0:
		end += e.Params.For
	case e.Params.RestartAfter > 0:
		end += e.Params.RestartAfter
	case e.Params.StaysDown:
		end = b.Course.Ended
	}
	if b.Course.Healed > 0 {
		end = max(at, min(end, b.Course.Healed))
	}
	return min(end, b.Course.Ended)
}

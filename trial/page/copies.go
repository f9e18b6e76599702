package page

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// tellCopies tells what became of the entries in question on each bookie.
func (b *builder) tellCopies() {
	for _, subject := range b.subjects {
		c := copying{builder: b, subject: subject, told: Copies{Ledger: subject.ledger, Entry: subject.entry, Bookies: []string{}, Steps: []Step{}}}
		for _, e := range b.events {
			c.see(e)
		}
		c.holdings()
		if len(c.told.Steps) > 0 {
			c.settle()
			b.page.Copies = append(b.page.Copies, c.told)
		}
	}
}

// copying follows one entry.
type copying struct {
	*builder
	subject ref
	told    Copies
	unsafe  map[string]bool // bookies with a copy that was written and never synced
}

func (c *copying) step(bookie string, at time.Duration, tone, text string) {
	i := slices.Index(c.told.Bookies, bookie)
	if i < 0 {
		i = len(c.told.Bookies)
		c.told.Bookies = append(c.told.Bookies, bookie)
	}
	c.told.Steps = append(c.told.Steps, Step{int64(at), i, text, tone})
}

func (c *copying) see(e *raw) {
	if !slices.Contains(e.refs, c.subject) {
		c.seeLife(e)
		return
	}
	switch e.kind {
	case KindMessage:
		c.seeMessage(e)
	case KindWrite:
		c.seeWrite(e)
	case KindSync:
		c.seeSync(e)
	case KindOperation:
		if roleOf(e.node) == "bookie" { // a client in the bookie's own process
			c.seeLocal(e)
		}
	}
}

// seeLocal tells of a client in the bookie's own process, which needs no messages.
func (c *copying) seeLocal(e *raw) {
	switch {
	case e.end == never:
		c.step(e.node, e.at, "open", e.text)
	case e.bad:
		c.step(e.node, e.end, "bad", e.text)
	default:
		c.step(e.node, e.end, "good", e.text)
	}
}

func (c *copying) seeMessage(e *raw) {
	switch {
	case roleOf(e.peer) == "bookie" && e.end == never:
		c.step(e.peer, e.at, "bad", e.text+" from "+e.node+" does not arrive")
	case roleOf(e.peer) == "bookie":
		c.step(e.peer, e.end, "", e.text+" from "+e.node)
	case e.bad:
		c.step(e.node, e.at, "bad", e.text)
	default:
		c.step(e.node, e.at, "good", e.text)
	}
}

func (c *copying) seeWrite(e *raw) {
	if c.unsafe == nil {
		c.unsafe = map[string]bool{}
	}
	c.unsafe[e.node] = true
	c.step(e.node, e.at, "open", brief(e.text)+", not synced yet")
}

func (c *copying) seeSync(e *raw) {
	switch {
	case e.end == never:
		c.step(e.node, e.at, "open", brief(e.text)+" does not end")
	case e.bad:
		c.step(e.node, e.end, "bad", brief(e.text))
	default:
		delete(c.unsafe, e.node)
		c.step(e.node, e.end, "good", brief(e.text)+" done: the copy is safe")
	}
}

// brief leaves offsets out.
func brief(text string) string {
	what, where, wide := strings.Cut(text, ", ")
	if _, group, found := strings.Cut(where, ": "); wide && found {
		return what + " (" + group + ")"
	}
	return what
}

// seeLife tells of crashes of bookies that have to do with the entry.
func (c *copying) seeLife(e *raw) {
	if e.kind != KindLife || !slices.Contains(c.told.Bookies, e.node) {
		return
	}
	switch word, _, _ := strings.Cut(e.text, " "); word {
	case "crash":
		if c.unsafe[e.node] {
			delete(c.unsafe, e.node)
			c.step(e.node, e.at, "bad", "crash: a copy was written and not synced")
			return
		}
		c.step(e.node, e.at, "", "crash")
	case "power", "start,", "exit":
		c.step(e.node, e.at, "", e.text)
	}
}

func (c *copying) holdings() {
	for _, h := range c.Course.Holdings {
		if h.Ledger == c.subject.ledger && h.Entry == c.subject.entry {
			tone := map[bool]string{true: "good", false: "bad"}[h.Outcome == "found"]
			c.step(h.Bookie, c.Course.Ended, tone, "asked at the end for its copy: "+h.Outcome)
		}
	}
}

// settle orders the steps, and the bookies by their names. Of too many steps those in the middle go.
func (c *copying) settle() {
	names := slices.Sorted(slices.Values(c.told.Bookies))
	for i := range c.told.Steps {
		s := &c.told.Steps[i]
		s.Bookie = slices.Index(names, c.told.Bookies[s.Bookie])
	}
	c.told.Bookies = names
	slices.SortStableFunc(c.told.Steps, func(x, y Step) int { return cmp.Compare(x.At, y.At) })
	if left := len(c.told.Steps) - c.Limits.StepsMax; left > 0 {
		half := c.Limits.StepsMax / 2
		c.told.Steps = slices.Delete(c.told.Steps, half, half+left)
		c.told.LeftOut = left
	}
}

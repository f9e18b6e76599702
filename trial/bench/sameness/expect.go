package sameness

import (
	"errors"
	"fmt"
	"slices"

	"lakebed/engine/bookkeeper/ledger"
)

// book is what a script says of one ledger up to some step.
type book struct {
	outcome
	written  bool // it has a writer
	left     bool // its writer walked away
	hit      bool // a bookie of its ensemble was killed, and nothing was appended since
	doubtful bool // a bookie that was killed for another ledger may be of its ensemble
	free     bool // where its fragments begin is not determined any more
	sum      contents
}

// determined says that no entry is acknowledged past a bookie that is gone.
func determined(q ledger.Quorum) bool { return q.Ensemble == q.Write && q.Write == q.Ack }

// ledgersOf are the ledgers of a script while it is gone through.
type ledgersOf struct {
	script *Script
	books  map[Name]*book
	killed map[Name]map[int]bool // which indexes of an ensemble, since the last append to it
	down   int
}

// Validate says what a script asks for that has no single right outcome, or that no world can do.
func (s *Script) Validate() error {
	_, err := s.walk()
	return err
}

// Expected is the state that a script must end in.
func (s *Script) Expected() (State, error) {
	l, err := s.walk()
	if err != nil {
		return "", err
	}
	var outcomes []outcome
	for _, b := range l.books {
		if b.state == ledger.Closed {
			b.contents = b.sum.String()
		}
		if b.free || b.state == 0 {
			b.fragments = nil
		}
		outcomes = append(outcomes, b.outcome)
	}
	return stateOf(outcomes), nil
}

// Entries is how many entries a script appends.
func (s *Script) Entries() (count int) {
	for _, step := range s.Steps {
		count += step.Entries
	}
	return count
}

func (s *Script) walk() (*ledgersOf, error) {
	if s.Bookies < 1 || s.Bookies > BookiesMax {
		return nil, fmt.Errorf("%w: %d bookies: must be 1 to %d", ErrScript, s.Bookies, BookiesMax)
	}
	l := &ledgersOf{script: s, books: map[Name]*book{}, killed: map[Name]map[int]bool{}}
	for i := range s.Steps {
		step := &s.Steps[i]
		if err := l.take(step); err != nil {
			return nil, fmt.Errorf("step %d, %q: %w: %w", i+1, step, ErrScript, err)
		}
	}
	return l, nil
}

func (l *ledgersOf) take(step *Step) error {
	b := l.books[step.Ledger]
	if step.Verb == Create {
		return l.create(step, b)
	}
	if step.Verb == Restart {
		return l.restart()
	}
	if b == nil || b.state == 0 {
		return errors.New("there is no such ledger")
	}
	if slices.Contains([]Verb{Append, Close, Abandon, TakeOver, Kill}, step.Verb) && !b.written {
		return errors.New("the ledger has no writer any more")
	}
	switch step.Verb {
	case Append:
		return l.append(step, b)
	case Close:
		b.written, b.state = false, ledger.Closed
	case Abandon:
		b.written, b.left = false, true
	case Recover, TakeOver:
		return l.recover(step, b)
	case Delete:
		if b.written {
			return errors.New("the ledger has a writer")
		}
		b.state = 0
	case Kill:
		return l.kill(step, b)
	default:
		return errors.New("unknown verb")
	}
	return nil
}

// recover: more than Qa-1 bookies that are away may be all that hold an entry, and then nobody can say where the ledger ends.
func (l *ledgersOf) recover(step *Step, b *book) error {
	if l.down >= b.quorum.Ack {
		return errors.New("too many bookies are down for a recovery")
	}
	if step.Verb == Recover && (!b.left || b.state == ledger.Closed) {
		return errors.New("the ledger was not abandoned, or is closed already")
	}
	b.written, b.state, b.free = false, ledger.Closed, true
	return nil
}

func (l *ledgersOf) create(step *Step, b *book) error {
	if b != nil {
		return errors.New("the name was used before")
	}
	if err := step.Quorum.Validate(); err != nil {
		return err
	}
	if step.Quorum.Ensemble > l.script.Bookies-l.down {
		return errors.New("fewer bookies are up than the ensemble needs")
	}
	made := &book{written: true, sum: newContents()}
	made.outcome = outcome{
		name: step.Ledger, quorum: step.Quorum, digest: step.Digest, state: ledger.Open, last: ledger.NoEntry,
		fragments: []ledger.EntryID{0},
	}
	made.free = !determined(step.Quorum)
	l.books[step.Ledger] = made
	return nil
}

func (l *ledgersOf) append(step *Step, b *book) error {
	if step.Entries < 1 || step.Entries > EntriesMax || step.BytesMin < 0 || step.BytesMax < step.BytesMin || step.BytesMax > BytesMax {
		return fmt.Errorf("%d entries of %d to %d bytes: must be 1 to %d, and at most %d bytes",
			step.Entries, step.BytesMin, step.BytesMax, EntriesMax, BytesMax)
	}
	if b.hit && b.last+1 > b.fragments[len(b.fragments)-1] {
		b.fragments = append(b.fragments, b.last+1) // one that begins where the last one does takes its place
	}
	b.free = b.free || b.doubtful
	b.hit = false
	delete(l.killed, step.Ledger)
	for range step.Entries {
		b.last++
		p := payload(l.script.Seed, b.name, b.last, step.BytesMin, step.BytesMax)
		b.sum.add(b.last, p)
		b.length += int64(len(p))
	}
	return nil
}

// kill: there must be enough bookies left for every ledger that somebody writes.
func (l *ledgersOf) kill(step *Step, b *book) error {
	if step.Index < 0 || step.Index >= b.quorum.Ensemble {
		return errors.New("the ensemble has no such index")
	}
	if l.killed[step.Ledger][step.Index] {
		return errors.New("the bookie there was killed already, and nothing was appended since")
	}
	for _, other := range l.books {
		// The bookie may be down already, killed for another ledger: then one less is.
		if other.written && other.quorum.Ensemble > l.script.Bookies-l.down-1 {
			return fmt.Errorf("ledger %s could not replace it", other.name)
		}
		other.doubtful = other.doubtful || other != b
	}
	if l.killed[step.Ledger] == nil {
		l.killed[step.Ledger] = map[int]bool{}
	}
	l.killed[step.Ledger][step.Index] = true
	b.hit = true
	l.down++
	return nil
}

// restart: who was hit and did not notice is as before.
func (l *ledgersOf) restart() error {
	if l.down == 0 {
		return errors.New("no bookie is down")
	}
	l.down = 0
	clear(l.killed)
	for _, b := range l.books {
		b.hit, b.doubtful = false, false
	}
	return nil
}

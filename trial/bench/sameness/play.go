package sameness

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// bookies are what a world lets a script do to its bookies. The calls come from one task.
type bookies interface {
	// kill ends a bookie. One that is down already stays so.
	kill(ledger.BookieID) error
	// restart starts all that are down, and returns when they serve.
	restart() error
}

// Settings of the client that plays a script. After a restart it must have forgotten that bookies were away: one that is
// still avoided, or left alone after a failed dial, would be replaced, and the script says that it is not.
const (
	backoffMax   = 200 * time.Millisecond
	suspectPause = 200 * time.Millisecond
	forgetPause  = 700 * time.Millisecond // more than both, and more than a connection that broke needs to be seen as broken
	addTimeout   = 2 * time.Second
	awaitBookies = 30 * time.Second
	readEntries  = 100 // at a time
)

// password is that of all ledgers.
const password = "sameness"

func clientConfig() client.Config {
	c := client.DefaultConfig()
	c.Pool.BackoffMax, c.Pool.SuspectPause = backoffMax, suspectPause
	c.Pool.StableAfter = 0 // a bookie whose connection was young when it was killed is dialled again at once
	c.AddTimeout = addTimeout
	c.WindowEntries = 64
	return c
}

// Twist changes what is appended, so that tests can plant a difference. It may return nil: the entry is left out.
type Twist func(name Name, entry ledger.EntryID, payload []byte) []byte

// player plays a script with a client.
type player struct {
	h       host.Host
	client  *client.Client
	bookies bookies
	script  *Script
	twist   Twist // may be nil
	reads   int   // entries that the look at the end asks for at a time

	writers map[Name]*client.Writer
	ids     map[Name]ledger.ID
	next    map[Name]ledger.EntryID // by the script's count
	down    bool
}

func newPlayer(h host.Host, c *client.Client, b bookies, s *Script, settings *Settings) *player {
	return &player{
		h: h, client: c, bookies: b, script: s, twist: settings.Twist, reads: settings.ReadEntries,
		writers: map[Name]*client.Writer{}, ids: map[Name]ledger.ID{}, next: map[Name]ledger.EntryID{},
	}
}

// play does all steps, and has all bookies up in the end.
func (p *player) play() error {
	if err := p.client.AwaitBookies(p.script.Bookies, host.Within(p.h, p.h.Root(), awaitBookies)); err != nil {
		return fmt.Errorf("wait for the bookies of the script: %w", err)
	}
	for i := range p.script.Steps {
		step := &p.script.Steps[i]
		if err := p.step(step); err != nil {
			return fmt.Errorf("step %d, %q: %w", i+1, step, err)
		}
	}
	if p.down {
		return p.restart()
	}
	return nil
}

func (p *player) step(s *Step) error {
	switch s.Verb {
	case Create:
		return p.create(s)
	case Append:
		return p.append(s)
	case Close:
		return p.writers[s.Ledger].Close()
	case Abandon:
		p.writers[s.Ledger].Abandon()
		return nil
	case Recover:
		return p.recover(s)
	case TakeOver:
		return p.takeOver(s)
	case Delete:
		return p.client.Delete(p.ids[s.Ledger])
	case Kill:
		p.down = true
		m := p.writers[s.Ledger].Metadata()
		return p.bookies.kill(m.Last().Ensemble[s.Index])
	case Restart:
		return p.restart()
	}
	return ErrScript
}

func (p *player) create(s *Step) error {
	o := client.DefaultCreateOptions()
	o.Quorum, o.Digest, o.Password = s.Quorum, s.Digest, []byte(password)
	w, err := p.client.Create(o)
	if err != nil {
		return err
	}
	p.writers[s.Ledger], p.ids[s.Ledger] = w, w.ID()
	return nil
}

// completions counts appends in, for the one task that waits for them.
type completions struct {
	mutex host.Mutex
	more  host.Cond
	left  int
	err   error // the first
}

func (c *completions) Appended(op *client.Op) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.err == nil {
		c.err = op.Err
	}
	if c.left--; c.left == 0 {
		c.more.Signal()
	}
}

func (c *completions) wait() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for c.left > 0 {
		if !c.more.Wait() {
			return host.ErrStopping
		}
	}
	return c.err
}

// append appends entries as fast as the window lets it, and returns when all are acknowledged.
func (p *player) append(s *Step) error {
	m := p.h.NewMutex("sameness")
	done := &completions{mutex: m, more: p.h.Root().NewCond(m), left: 1}
	for range s.Entries {
		entry := p.next[s.Ledger]
		p.next[s.Ledger]++
		body := payload(p.script.Seed, s.Ledger, entry, s.BytesMin, s.BytesMax)
		if p.twist != nil {
			if body = p.twist(s.Ledger, entry, body); body == nil {
				continue
			}
		}
		done.mutex.Lock()
		done.left++
		done.mutex.Unlock()
		if err := p.writers[s.Ledger].Append(body, &client.Op{Done: done}); err != nil {
			return err
		}
	}
	done.Appended(&client.Op{}) // the one that kept the count from falling to zero between two appends
	return done.wait()
}

func (p *player) recover(s *Step) error {
	r, err := p.client.Open(p.ids[s.Ledger], client.OpenOptions{Password: []byte(password)})
	if err != nil {
		return err
	}
	r.Close()
	return nil
}

var errNotOut = errors.New("its writer still appends after another client has taken it over")

// takeOver recovers a ledger under its writer, which must find out.
func (p *player) takeOver(s *Step) error {
	if err := p.recover(s); err != nil {
		return err
	}
	w := p.writers[s.Ledger]
	_, err := w.AppendOne([]byte("too late"))
	w.Abandon()
	if err == nil {
		return errNotOut
	}
	if !errors.Is(err, client.ErrFenced) && !errors.Is(err, client.ErrClosed) {
		return fmt.Errorf("the writer that is out does not know why: %w", err)
	}
	return nil
}

func (p *player) restart() error {
	if err := p.bookies.restart(); err != nil {
		return err
	}
	p.down = false
	p.h.Root().Sleep(forgetPause)
	return nil
}

// look reads what is left, with a client that wrote none of it.
func (p *player) look(reader *client.Client) (State, error) {
	var outcomes []outcome
	names := host.SortedKeys(p.ids)
	for _, name := range names {
		o, err := p.lookAt(reader, name)
		if err != nil {
			return "", fmt.Errorf("look at %s, ledger %d: %w", name, p.ids[name], err)
		}
		outcomes = append(outcomes, o)
	}
	outcomes, err := p.script.withoutUndetermined(outcomes)
	if err != nil {
		return "", err
	}
	return stateOf(outcomes), nil
}

func (p *player) lookAt(reader *client.Client, name Name) (outcome, error) {
	o := outcome{name: name, last: ledger.NoEntry}
	r, err := reader.OpenNoRecovery(p.ids[name], client.OpenOptions{Password: []byte(password)})
	if errors.Is(err, client.ErrNoSuchLedger) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	defer r.Close()
	m := r.Metadata()
	o.quorum, o.digest, o.state = m.Quorum, m.Digest, m.State
	for _, f := range m.Fragments {
		o.fragments = append(o.fragments, f.First)
	}
	if m.State != ledger.Closed {
		return o, nil
	}
	o.last, o.length = r.LastAddConfirmed(), r.Length()
	o.contents, err = readAll(r, o.last, p.reads)
	return o, err
}

// readAll reads a closed ledger from its first entry to its last.
func readAll(r *client.Reader, last ledger.EntryID, atATime int) (string, error) {
	sum := newContents()
	step := ledger.EntryID(atATime)
	for first := ledger.EntryID(0); first <= last; first += step {
		entries, err := r.Read(first, min(first+step-1, last))
		if err != nil {
			return "", err
		}
		for _, e := range entries.List {
			sum.add(e.ID, e.Payload)
		}
		entries.Release()
	}
	return sum.String(), nil
}

// withoutUndetermined leaves out of a state where fragments begin, where the script does not determine it.
func (s *Script) withoutUndetermined(outcomes []outcome) ([]outcome, error) {
	l, err := s.walk()
	if err != nil {
		return nil, err
	}
	for i := range outcomes {
		if b := l.books[outcomes[i].name]; b != nil && b.free {
			outcomes[i].fragments = nil
		}
	}
	return outcomes, nil
}

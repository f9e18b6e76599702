package lakebed_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"lakebed"
)

// modelled is a ledger as the model has it: what was appended in order, how much of it was acknowledged, and what its
// handles should say.
type modelled struct {
	id     lakebed.LedgerID
	writer *lakebed.Writer
	sent   []string // in the order of their ids
	acked  int      // of sent; the rest may be in the ledger or not
	over   bool     // the writer was closed, abandoned or fenced
	closed bool
	end    int // entries of a closed ledger
	gone   bool
}

// machine drives the API and the model with the same operations, and compares.
type machine struct {
	world   *world
	ledgers []*modelled
}

// Whatever is done in whatever order, a ledger holds what was acknowledged, in order, and nothing that was not sent.
func TestTheStoreFollowsItsModel(t *testing.T) {
	w := start(t, 4, lakebed.Config{WindowEntries: 8})
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{world: w}
		t.Repeat(map[string]func(*rapid.T){
			"create": m.create, "append": m.append, "batch": m.batch, "async": m.async, "hasty": m.hasty,
			"close": m.close, "abandon": m.abandon, "open": m.open, "read": m.read, "tail": m.tail, "delete": m.delete, "stat": m.stat,
		})
		m.finish(t)
	})
}

// pick draws a ledger that fits, and makes a new one if there is none, whether that fits or not: an action that is skipped too often ends the run.
func (m *machine) pick(t *rapid.T, fit func(*modelled) bool) *modelled {
	var fitting []*modelled
	for _, l := range m.ledgers {
		if fit(l) {
			fitting = append(fitting, l)
		}
	}
	if len(fitting) == 0 {
		m.create(t)
		fitting = m.ledgers[len(m.ledgers)-1:]
	}
	return rapid.SampledFrom(fitting).Draw(t, "ledger")
}

func writable(l *modelled) bool { return !l.over }
func present(l *modelled) bool  { return !l.gone }

// draw makes payloads, and notes them as sent.
func (l *modelled) draw(t *rapid.T, atMost int) [][]byte {
	all := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 40), 0, atMost).Draw(t, "payloads")
	for _, p := range all {
		l.sent = append(l.sent, string(p))
	}
	return all
}

func (m *machine) create(t *rapid.T) {
	ensemble := rapid.IntRange(1, 4).Draw(t, "E")
	qw := rapid.IntRange(1, ensemble).Draw(t, "Qw")
	o := lakebed.LedgerOptions{Ensemble: ensemble, WriteQuorum: qw, AckQuorum: rapid.IntRange(1, qw).Draw(t, "Qa")}
	writer, err := m.world.store.Create(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	m.ledgers = append(m.ledgers, &modelled{id: writer.ID(), writer: writer})
}

func (m *machine) append(t *rapid.T) {
	l := m.pick(t, writable)
	for _, p := range l.draw(t, 3) {
		id, err := l.writer.Append(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		l.acked = int(id) + 1
	}
	if l.acked > len(l.sent) || len(l.sent) > 0 && l.writer.LastAddConfirmed() < lakebed.EntryID(l.acked-1) {
		t.Fatalf("acknowledged %d of %d, the last confirmed is %d", l.acked, len(l.sent), l.writer.LastAddConfirmed())
	}
}

func (m *machine) batch(t *rapid.T) {
	l := m.pick(t, writable)
	before := len(l.sent)
	all := l.draw(t, 20)
	ids, err := l.writer.AppendBatch(t.Context(), all)
	if err != nil || len(ids) != len(all) {
		t.Fatalf("%d ids, %v", len(ids), err)
	}
	for i, id := range ids {
		if int(id) != before+i {
			t.Fatalf("ids %v, want from %d on", ids, before)
		}
	}
	if len(ids) > 0 {
		l.acked = len(l.sent)
	}
}

func (m *machine) async(t *rapid.T) {
	l := m.pick(t, writable)
	var last *lakebed.Pending
	for _, p := range l.draw(t, 20) {
		var err error
		if last, err = l.writer.AppendAsync(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if last != nil && rapid.Bool().Draw(t, "wait") {
		id, err := last.Wait(t.Context())
		if err != nil || int(id) != len(l.sent)-1 {
			t.Fatalf("entry %d, want %d: %v", id, len(l.sent)-1, err)
		}
		l.acked = len(l.sent)
	}
}

// hasty appends with a context that ends at some time.
func (m *machine) hasty(t *rapid.T) {
	l := m.pick(t, writable)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	appending := make(chan struct{})
	go func() {
		<-appending
		cancel()
	}()
	p := []byte("hasty")
	close(appending)
	switch id, err := l.writer.Append(ctx, p); {
	case err == nil:
		l.sent = append(l.sent, string(p))
		l.acked = len(l.sent)
		if int(id) != len(l.sent)-1 {
			t.Fatalf("entry %d, want %d", id, len(l.sent)-1)
		}
	case !errors.Is(err, context.Canceled):
		t.Fatal(err)
	case errors.Is(err, lakebed.ErrOutcomeUnknown):
		l.sent = append(l.sent, string(p)) // all that is known is that it comes before what is appended next
	}
}

func (m *machine) close(t *rapid.T) {
	l := m.pick(t, func(l *modelled) bool { return l.writer != nil && !l.gone })
	err := l.writer.Close(t.Context())
	if l.over {
		return // its outcome is that of the first end
	}
	if err != nil {
		t.Fatal(err)
	}
	l.over, l.closed, l.acked, l.end = true, true, len(l.sent), len(l.sent)
}

func (m *machine) abandon(t *rapid.T) {
	l := m.pick(t, writable)
	l.writer.Abandon()
	l.over = true
}

// open recovers: all that was acknowledged is there, and nothing that was not sent.
func (m *machine) open(t *rapid.T) { m.recover(t, m.pick(t, present)) }

func (m *machine) recover(t *rapid.T, l *modelled) {
	r, err := m.world.store.Open(t.Context(), l.id, lakebed.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	count := int(r.LastAddConfirmed()) + 1
	if count < l.acked || count > len(l.sent) || l.closed && count != l.end {
		t.Fatalf("ledger %d has %d entries: %d were sent, %d acknowledged, it was closed (%t) with %d", l.id, count, len(l.sent), l.acked, l.closed, l.end)
	}
	var length int64
	for e, err := range r.Entries(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if length += int64(len(e.Payload)); string(e.Payload) != l.sent[e.ID] || e.Length != length {
			t.Fatalf("entry %d of ledger %d: %q of length %d, sent was %q", e.ID, l.id, e.Payload, e.Length, l.sent[e.ID])
		}
	}
	if r.Length() != length {
		t.Fatalf("ledger %d has length %d, its entries %d", l.id, r.Length(), length)
	}
	if !l.over {
		if _, err := l.writer.Append(t.Context(), nil); !errors.Is(err, lakebed.ErrFenced) {
			t.Fatalf("append of a fenced writer: %v", err)
		}
	}
	l.over, l.closed, l.end, l.acked = true, true, count, count
}

// read reads a range behind a writer that may be at work.
func (m *machine) read(t *rapid.T) {
	l := m.pick(t, present)
	r, err := m.world.store.OpenNoRecovery(t.Context(), l.id, lakebed.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	confirmed := int(r.LastAddConfirmed())
	if confirmed >= len(l.sent) || l.closed && confirmed != l.end-1 {
		t.Fatalf("confirmed %d of %d sent, closed (%t) with %d", confirmed, len(l.sent), l.closed, l.end)
	}
	first, last := rapid.IntRange(0, 30).Draw(t, "first"), rapid.IntRange(0, 30).Draw(t, "last")
	entries, err := r.Read(t.Context(), lakebed.EntryID(first), lakebed.EntryID(last))
	switch {
	case last < first:
		if !errors.Is(err, lakebed.ErrInvalid) {
			t.Fatalf("read %d to %d: %v", first, last, err)
		}
	case last > confirmed:
		if err != nil && !errors.Is(err, lakebed.ErrBeyondLAC) { // it may have been confirmed meanwhile
			t.Fatalf("read %d to %d, confirmed %d: %v", first, last, confirmed, err)
		}
	case err != nil || len(entries) != last-first+1:
		t.Fatalf("read %d to %d, confirmed %d: %d entries, %v", first, last, confirmed, len(entries), err)
	}
	for i, e := range entries {
		if int(e.ID) != first+i || string(e.Payload) != l.sent[first+i] {
			t.Fatalf("read %d to %d: %+v", first, last, entries)
		}
	}
}

// tail follows a writer for a few entries.
func (m *machine) tail(t *rapid.T) {
	l := m.pick(t, func(l *modelled) bool { return !l.gone && (l.closed || l.acked > 0) })
	r, err := m.world.store.OpenNoRecovery(t.Context(), l.id, lakebed.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want := l.end
	if !l.closed {
		want = int(r.LastAddConfirmed()) + 1 // what was acknowledged last becomes known with what comes next
	}
	if want == 0 {
		return
	}
	seen := 0
	for e, err := range r.Tail(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if int(e.ID) != seen || string(e.Payload) != l.sent[seen] {
			t.Fatalf("entry %d: %+v", seen, e)
		}
		if seen++; !l.closed && seen == want {
			break
		}
	}
	if seen != want {
		t.Fatalf("saw %d entries of ledger %d, want %d", seen, l.id, want)
	}
}

func (m *machine) delete(t *rapid.T) {
	l := m.pick(t, func(l *modelled) bool { return l.over && !l.gone })
	if !l.over { // made by pick
		l.writer.Abandon()
		l.over = true
	}
	if err := m.world.store.Delete(t.Context(), l.id); err != nil {
		t.Fatal(err)
	}
	l.gone = true
}

func (m *machine) stat(t *rapid.T) {
	l := m.pick(t, func(*modelled) bool { return true })
	info, err := m.world.store.Stat(t.Context(), l.id)
	switch {
	case l.gone:
		if !errors.Is(err, lakebed.ErrNoSuchLedger) {
			t.Fatalf("stat of a deleted ledger: %v", err)
		}
	case err != nil:
		t.Fatal(err)
	case l.closed != (info.State == lakebed.StateClosed), l.closed && int(info.LastEntry) != l.end-1:
		t.Fatalf("got %+v, want closed (%t) with %d entries", info, l.closed, l.end)
	}
}

// finish recovers everything once more, and compares the list of what there is.
func (m *machine) finish(t *rapid.T) {
	var want []lakebed.LedgerID
	for _, l := range m.ledgers {
		if !l.gone {
			m.recover(t, l)
			want = append(want, l.id)
		}
	}
	var got []lakebed.LedgerID
	for id, err := range m.world.store.Ledgers(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, id)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("there are the ledgers %v, want %v", got, want)
	}
	for _, id := range got { // the next run begins with none
		if err := m.world.store.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
}

package protocol_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
)

// drawnWorld is bookies, a metadata store, a writer and recoveries, in which what happens next is drawn.
type drawnWorld struct {
	t       *rapid.T
	quorum  ledger.Quorum
	bookies []drawnBookie
	stored  []*ledger.Metadata // the version is the place
	clients []*drawnClient
	onWay   []sent
	healed  bool
	entries int
}

type drawnBookie struct {
	fenced, limbo bool
	held          map[ledger.EntryID]protocol.Effect
}

type drawnClient struct {
	writer   *protocol.Writer
	recovery *protocol.Recovery
	call     *protocol.Effect
	late     []protocol.Effect // writes that it gave up on
	ask      *protocol.Effect
	ended    bool
	stopped  bool
	acked    ledger.EntryID
}

// sent is a request on its way, or, once the bookie has dealt with it, its answer.
type sent struct {
	client   int
	effect   protocol.Effect
	answered bool
	nobody   bool // the client gave up on it
	add      protocol.AddOutcome
	read     protocol.ReadOutcome
	body     protocol.Effect // of what was found
}

// TestAckedEntriesSurviveWhateverIsDrawn: with rival recoveries, replacements, clients that stop, lost and late messages,
// stale reads and lost answers of the metadata store, and restarts, every acknowledged entry lies on Qa bookies that the
// stored metadata name; and once all is well again everybody comes to an end, the same for all, behind the last
// acknowledged entry.
func TestAckedEntriesSurviveWhateverIsDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newDrawnWorld(t)
		for range rapid.IntRange(10, 300).Draw(t, "steps") {
			w.step()
			w.check()
		}
		w.heal()
	})
}

func newDrawnWorld(t *rapid.T) *drawnWorld {
	q := rapid.SampledFrom([]ledger.Quorum{
		{Ensemble: 3, Write: 3, Ack: 2}, {Ensemble: 2, Write: 2, Ack: 1}, {Ensemble: 5, Write: 3, Ack: 2}, {Ensemble: 3, Write: 3, Ack: 3},
		{Ensemble: 6, Write: 2, Ack: 2}, {Ensemble: 2, Write: 1, Ack: 1}, {Ensemble: 4, Write: 3, Ack: 1},
	}).Draw(t, "quorum")
	w := &drawnWorld{t: t, quorum: q}
	for range q.Ensemble + rapid.IntRange(0, 3).Draw(t, "spare") {
		w.bookies = append(w.bookies, drawnBookie{held: map[ledger.EntryID]protocol.Effect{}})
	}
	f := ledger.Fragment{}
	for i := range q.Ensemble {
		f.Ensemble = append(f.Ensemble, drawnID(i))
	}
	w.stored = []*ledger.Metadata{{Quorum: q, State: ledger.Open, LastEntry: ledger.NoEntry, Digest: ledger.CRC32C, Fragments: []ledger.Fragment{f}}}
	o := protocol.WriterOptions{
		WindowMax: rapid.IntRange(1, 20).Draw(t, "window"), DelayEnsembleChange: rapid.Bool().Draw(t, "delay"),
		RetryReplacementAfter: rapid.IntRange(1, 5).Draw(t, "retry"), AttemptsMax: rapid.IntRange(2, 50).Draw(t, "attempts"),
	}
	w.clients = []*drawnClient{{writer: protocol.NewWriter(o, w.stored[0], 0), acked: ledger.NoEntry}}
	return w
}

func drawnID(i int) ledger.BookieID { return ledger.BookieID(fmt.Sprintf("b%02d", i)) }

func (w *drawnWorld) bookie(id ledger.BookieID) *drawnBookie {
	var i int
	if _, err := fmt.Sscanf(string(id), "b%02d", &i); err != nil {
		w.t.Fatal(err)
	}
	return &w.bookies[i]
}

func (w *drawnWorld) draw(what string, n int) int { return rapid.IntRange(0, n-1).Draw(w.t, what) }

func (w *drawnWorld) current() *ledger.Metadata { return w.stored[len(w.stored)-1] }

// step lets one thing happen.
func (w *drawnWorld) step() {
	c := w.draw("client", len(w.clients))
	k := w.clients[c]
	switch w.draw("what", 12) {
	case 0, 1:
		if !k.stopped && k.writer != nil && k.writer.Room() > 0 {
			k.writer.Append(1)
			w.entries++
		}
	case 2, 3, 4, 5, 6:
		w.move(false)
	case 7:
		w.move(true)
	case 8, 9:
		w.metadataStep(c)
	case 10:
		w.seldom()
	default:
		w.choose(c)
	}
	w.carryOutAll()
}

func (w *drawnWorld) seldom() {
	switch w.draw("seldom", 8) {
	case 0:
		if k := w.clients[0]; !k.ended && !k.stopped {
			k.writer.Close()
		}
	case 1, 2:
		if len(w.clients) < 5 {
			w.recover(w.stored[w.draw("version", len(w.stored))])
		}
	case 3, 4:
		w.stop(w.draw("stops", len(w.clients)))
	case 5:
		w.bookies[w.draw("restarts", len(w.bookies))].limbo = true
	default:
		w.lateWrite()
	}
}

func (w *drawnWorld) recover(m *ledger.Metadata) {
	version := metadata.Version(0)
	for v, stored := range w.stored {
		if stored == m {
			version = metadata.Version(v)
		}
	}
	o := protocol.RecoveryOptions{ReadsMax: 1 + w.draw("reads", 4), AttemptsMax: 50}
	k := &drawnClient{recovery: protocol.NewRecovery(o, m, version)}
	k.recovery.Start()
	w.clients = append(w.clients, k)
}

// stop ends a client where it stands. Its requests may still arrive.
func (w *drawnWorld) stop(c int) {
	k := w.clients[c]
	if k.call != nil && k.call.Kind == protocol.WriteMetadata {
		k.late = append(k.late, *k.call)
	}
	k.stopped, k.call, k.ask = true, nil, nil
	for i := range w.onWay {
		w.onWay[i].nobody = w.onWay[i].nobody || w.onWay[i].client == c
	}
}

func (w *drawnWorld) lateWrite() {
	for _, k := range w.clients {
		for i, e := range k.late {
			if int(e.Version) == len(w.stored)-1 {
				w.stored = append(w.stored, e.Metadata)
				k.late = append(k.late[:i:i], k.late[i+1:]...)
				return
			}
		}
	}
}

// metadataStep answers an open call of a client, in one of the ways that a store may.
func (w *drawnWorld) metadataStep(c int) {
	k := w.clients[c]
	if k.call == nil {
		return
	}
	e := *k.call
	k.call = nil
	how := 0
	if !w.healed {
		how = w.draw("how", 8)
	}
	a := protocol.MetadataAnswer{Outcome: protocol.MetadataFound, Metadata: w.current(), Version: metadata.Version(len(w.stored) - 1)}
	switch {
	case e.Kind == protocol.ReadMetadata && how == 7:
		a.Version = metadata.Version(w.draw("stale", len(w.stored)))
		a.Metadata = w.stored[a.Version]
	case e.Kind == protocol.ReadMetadata:
	case how == 7:
		a = protocol.MetadataAnswer{Outcome: protocol.MetadataUnknown}
		k.late = append(k.late, e)
	case how == 6:
		a = protocol.MetadataAnswer{Outcome: protocol.MetadataUnavailable}
	case int(e.Version) == len(w.stored)-1:
		w.stored = append(w.stored, e.Metadata)
		a = protocol.MetadataAnswer{Outcome: protocol.MetadataApplied, Version: metadata.Version(len(w.stored) - 1)}
		if how == 5 {
			a = protocol.MetadataAnswer{Outcome: protocol.MetadataUnknown}
		}
	default:
		a = protocol.MetadataAnswer{Outcome: protocol.MetadataConflict}
	}
	if k.writer != nil {
		k.writer.MetadataAnswered(a)
	} else {
		k.recovery.MetadataAnswered(a)
	}
}

// choose answers a question for replacements; sometimes with fewer than there are.
func (w *drawnWorld) choose(c int) {
	k := w.clients[c]
	if k.ask == nil {
		return
	}
	e := *k.ask
	k.ask = nil
	taken := map[ledger.BookieID]bool{}
	for _, b := range e.Exclude {
		taken[b] = true
	}
	var chosen []protocol.Replacement
	for i := range w.quorum.Ensemble {
		b := drawnID(w.draw("replacement", len(w.bookies)))
		if e.Set.Has(i) && !taken[b] {
			taken[b] = true
			chosen = append(chosen, protocol.Replacement{Index: i, Bookie: b})
		}
	}
	if k.writer != nil {
		k.writer.ReplacementsChosen(chosen)
	} else {
		k.recovery.ReplacementsChosen(chosen)
	}
}

// carryOutAll notes what the cores ask for.
func (w *drawnWorld) carryOutAll() {
	for c, k := range w.clients {
		take := func() []protocol.Effect { return nil }
		switch {
		case k.writer != nil:
			take = k.writer.Take
		case k.recovery != nil:
			take = k.recovery.Take
		}
		for _, e := range take() {
			if k.ended {
				w.t.Fatalf("client %d asks for %v after its end", c, e.Kind)
			}
			w.carryOut(c, k, e)
		}
	}
}

func (w *drawnWorld) carryOut(c int, k *drawnClient, e protocol.Effect) {
	switch e.Kind {
	case protocol.SendAdd, protocol.SendRecoveryRead, protocol.SendFencingLACRead:
		w.onWay = append(w.onWay, sent{client: c, effect: e})
	case protocol.WriteMetadata, protocol.ReadMetadata:
		if k.call != nil {
			w.t.Fatalf("client %d has two metadata calls open", c)
		}
		k.call = &e
	case protocol.AskReplacements:
		k.ask = &e
	case protocol.EntriesAcked:
		if k.writer != nil {
			if e.First != k.acked+1 {
				w.t.Fatalf("acknowledged %d to %d behind %d", e.First, e.Last, k.acked)
			}
			k.acked = e.Last
		}
	case protocol.Ended:
		k.ended = true
		if e.Failure == 0 && !e.Metadata.Equal(*w.current()) {
			w.t.Fatalf("client %d ended with %s, stored is %s", c, describe(e.Metadata), describe(w.current()))
		}
	}
}

// check holds the state against the promises that must hold at any time.
func (w *drawnWorld) check() {
	m, acked := w.current(), w.clients[0].acked
	if err := m.Validate(); err != nil {
		w.t.Fatal(err)
	}
	if m.State == ledger.Closed && m.LastEntry < acked {
		w.t.Fatalf("acknowledged %d, closed at %d", acked, m.LastEntry)
	}
	end := acked
	if m.State == ledger.Closed {
		end = m.LastEntry
	}
	for e := ledger.EntryID(0); e <= end; e++ {
		f, set, holders := m.FragmentOf(e), w.quorum.WriteSet(e), 0
		for i := range set.Len() {
			if _, held := w.bookie(f.Ensemble[set.At(i)]).held[e]; held {
				holders++
			}
		}
		if holders < w.quorum.Ack {
			w.t.Fatalf("entry %d of %s, acknowledged to %d, is on %d of its bookies", e, describe(m), acked, holders)
		}
	}
}

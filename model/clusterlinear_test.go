package model

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// TestClusterRulesAndSearchAgree: CheckCluster accuses exactly the histories that no order of operations explains.
func TestClusterRulesAndSearchAgree(t *testing.T) {
	var right, wrong, undecided int
	for seed := range uint64(max(10_000, *crossChecked)) {
		random := rand.New(rand.NewPCG(seed, 11))
		h := randomLedger(random)
		if seed%4 != 0 {
			for range 6 + random.IntN(10) {
				mutateLedger(random, h)
			}
		}
		if h.Validate() != nil {
			continue
		}
		search, fast := LinearizeLedger(h, 0, time.Second), CheckCluster(h)
		switch search {
		case porcupine.Ok:
			right++
		case porcupine.Illegal:
			wrong++
		default:
			undecided++
			continue
		}
		if (search == porcupine.Ok) != (len(fast) == 0) {
			for i := range h.Ops {
				t.Logf("%s, bound %d, %v", h.describe(i), h.Ops[i].Bound, h.Items(i))
			}
			t.Fatalf("seed %d: search says %s, the rules say %v", seed, search, fast)
		}
	}
	t.Logf("%d right, %d wrong, %d undecided", right, wrong, undecided)
	if wrong*10 < (right+wrong)*3 || right*10 < (right+wrong)*3 || undecided > 10 {
		t.Errorf("a weak comparison: %d right, %d wrong, %d undecided", right, wrong, undecided)
	}
}

// TestARecoveryOfADeletedLedgerMayHaveFenced: the deletion came while the recovery was under way, and the writer had learnt
// of the fence before. (Seed 2434 of the scenario cluster.)
func TestARecoveryOfADeletedLedgerMayHaveFenced(t *testing.T) {
	history := func(recovery Outcome, kind ClusterKind) *ClusterHistory {
		h := &ClusterHistory{}
		h.Append(ClusterOp{Client: 1, Call: 1, Return: 2, Kind: LedgerCreate, Outcome: OK})
		h.Append(ClusterOp{Client: 2, Call: 3, Return: 9, Kind: kind, Outcome: recovery})
		h.Append(ClusterOp{Client: 1, Call: 4, Return: 5, Kind: LedgerAppend, Outcome: Fenced, Digest: 1, Length: 1})
		h.Append(ClusterOp{Client: 3, Call: 6, Return: 8, Kind: LedgerDelete, Outcome: OK})
		return h
	}
	if got := LinearizeLedger(history(NoLedger, LedgerRecover), 0, time.Second); got != porcupine.Ok {
		t.Errorf("a recovery that ended with the ledger: %s", got)
	}
	if got := LinearizeLedger(history(NoLedger, LedgerClose), 0, time.Second); got != porcupine.Illegal {
		t.Errorf("a close that found no ledger fenced another writer: %s", got)
	}
}

// randomLedger makes a history of one ledger that is right by construction: every operation takes effect at a moment
// of its own, somewhere between call and return.
func randomLedger(random *rand.Rand) *ClusterHistory {
	g := ledgerGenerator{random: random, told: map[ClientID]EntryID{}}
	for i := range 4 + random.IntN(10) {
		at := Stamp(10 * (i + 1))
		g.add(ClusterOp{Call: at - Stamp(random.IntN(16)), Return: at + Stamp(random.IntN(16)), Client: ClientID(100 + i), Outcome: OK})
	}
	return &g.h
}

type ledgerGenerator struct {
	random         *rand.Rand
	h              ClusterHistory
	entries        []Digest
	told           map[ClientID]EntryID // one more than the entry
	fenced, closed bool
}

func (g *ledgerGenerator) add(op ClusterOp) {
	last := EntryID(len(g.entries)) - 1
	switch n := g.random.IntN(20); {
	case n < 10 && !g.closed || n < 3:
		g.append(op)
	case n < 13:
		op.Client = ClientID(g.random.IntN(2))
		op.Kind, op.Entry = LedgerConfirmed, max(last-EntryID(g.random.IntN(2)), g.told[op.Client]-1, NoLast)
		g.told[op.Client] = op.Entry + 1
		g.h.Append(op)
	case n < 17 && last >= 0:
		g.read(op, last)
	case n < 18:
		op.Kind, op.Outcome, g.fenced = LedgerRecover, Unknown, true
		g.h.Append(op)
	default:
		op.Kind, op.Entry, g.closed, g.fenced = LedgerRecover, last, true, true
		switch g.random.IntN(3) {
		case 0:
			op.Kind = LedgerClose
		case 1:
			op.Kind, op.Closed = LedgerConfirmed, true
		}
		g.h.Append(op)
	}
}

func (g *ledgerGenerator) append(op ClusterOp) {
	op.Kind, op.Digest, op.Entry = LedgerAppend, Digest(op.Client), EntryID(len(g.entries))
	happens := !g.closed
	switch n := g.random.IntN(5); {
	case n == 0 && g.fenced:
		op.Outcome, op.Entry, happens = Fenced, 0, happens && g.random.IntN(2) == 0
	case n < 2 || g.closed:
		op.Outcome, op.Entry, happens = Unknown, 0, happens && g.random.IntN(2) == 0
	}
	if happens {
		g.entries = append(g.entries, op.Digest)
	}
	g.h.Append(op)
}

func (g *ledgerGenerator) read(op ClusterOp, last EntryID) {
	op.Kind, op.Outcome, op.Bound = LedgerBatchRead, Found, NoBound
	op.Entry = EntryID(g.random.IntN(int(last) + 1))
	count := 1 + g.random.IntN(int(last-op.Entry)+1)
	if g.random.IntN(2) == 0 {
		op.Bound = max(op.Entry+EntryID(count)-1, last-EntryID(g.random.IntN(2)))
	}
	var items []Item
	for k := range count {
		items = append(items, Item{Entry: op.Entry + EntryID(k), Digest: g.entries[int(op.Entry)+k]})
	}
	g.h.AppendRead(op, items)
}

func mutateLedger(random *rand.Rand, h *ClusterHistory) {
	i := random.IntN(len(h.Ops))
	op := &h.Ops[i]
	switch random.IntN(6) {
	case 0:
		op.Return = op.Call
	case 1:
		if op.Outcome == OK || op.Outcome == Found {
			op.Entry = max(op.Entry+EntryID(random.IntN(3))-1, NoLast)
		}
	case 2, 3:
		shift := Stamp(random.IntN(60) - 30)
		op.Call, op.Return = op.Call+shift, op.Return+shift
	case 4:
		if op.reads() && op.Bound != NoBound {
			op.Bound = max(op.Bound+EntryID(random.IntN(3))-1, 0)
		}
	case 5:
		if items := h.Items(i); len(items) > 0 && random.IntN(3) == 0 {
			items[random.IntN(len(items))].Digest = Digest(100 + random.IntN(14))
		}
	}
}

// TestRegisterSearch: the search explains what a store may answer, and nothing else.
func TestRegisterSearch(t *testing.T) {
	const lost, refused = Unknown, Fenced
	put := func(call, ret Stamp, expected MetadataVersion, value uint64, outcome Outcome) RegisterOp {
		return RegisterOp{Call: call, Return: ret, Kind: RegisterPut, Expected: expected, Version: expected + 1, Value: value, Outcome: outcome}
	}
	get := func(call, ret Stamp, session ClientID, version MetadataVersion, value uint64) RegisterOp {
		return RegisterOp{Call: call, Return: ret, Client: session, Kind: RegisterGet, Version: version, Value: value, Outcome: Found}
	}
	create := RegisterOp{Call: 1, Return: 2, Kind: RegisterCreate, Value: 1, Outcome: OK}
	gone := RegisterOp{Call: 5, Return: 6, Kind: RegisterDelete, Expected: 0, Outcome: OK}
	for _, c := range []struct {
		name          string
		ops           []RegisterOp
		strict, stale porcupine.CheckResult
	}{
		{"create, put, get", []RegisterOp{create, put(3, 4, 0, 2, OK), get(5, 6, 1, 1, 2)}, porcupine.Ok, porcupine.Ok},
		{"two puts on one version", []RegisterOp{create, put(3, 4, 0, 2, OK), put(3, 4, 0, 3, OK)}, porcupine.Illegal, porcupine.Illegal},
		{"a put refused without cause", []RegisterOp{create, put(3, 4, 0, 2, refused)}, porcupine.Illegal, porcupine.Illegal},
		{"a put refused by a rival", []RegisterOp{create, put(3, 6, 0, 2, OK), put(4, 5, 0, 3, refused)}, porcupine.Ok, porcupine.Ok},
		{"a put whose answer was lost", []RegisterOp{create, put(3, 4, 0, 2, lost), get(5, 6, 1, 1, 2)}, porcupine.Ok, porcupine.Ok},
		{"a put that never came", []RegisterOp{create, put(3, 4, 0, 2, lost), get(5, 6, 1, 0, 1)}, porcupine.Ok, porcupine.Ok},
		{"a put that comes late", []RegisterOp{create, put(3, Never, 0, 2, lost), get(5, 6, 1, 0, 1), get(7, 8, 1, 1, 2)}, porcupine.Ok, porcupine.Ok},
		{"a put that came and went", []RegisterOp{create, put(3, Never, 0, 2, lost), get(5, 6, 1, 1, 2), get(7, 8, 1, 0, 1)}, porcupine.Illegal, porcupine.Illegal},
		{"a put after another one", []RegisterOp{create, put(3, Never, 0, 2, lost), put(5, 6, 0, 3, OK), get(7, 8, 1, 1, 2)}, porcupine.Illegal, porcupine.Illegal},
		{"an old state", []RegisterOp{create, put(3, 4, 0, 2, OK), get(5, 6, 1, 0, 1)}, porcupine.Illegal, porcupine.Ok},
		{"an old state in one's own session", []RegisterOp{create, put(3, 4, 0, 2, OK), get(5, 6, 0, 0, 1)}, porcupine.Illegal, porcupine.Illegal},
		{"an old state after a newer one", []RegisterOp{create, put(3, 4, 0, 2, OK), get(5, 6, 1, 1, 2), get(7, 8, 1, 0, 1)}, porcupine.Illegal, porcupine.Illegal},
		{"an old state after a sync", []RegisterOp{create, put(3, 4, 0, 2, OK), {Call: 5, Return: 6, Client: 1, Kind: RegisterSync, Outcome: OK}, get(7, 8, 1, 0, 1)}, porcupine.Illegal, porcupine.Illegal},
		{"a state of the future", []RegisterOp{create, get(3, 4, 1, 1, 2), put(5, 6, 0, 2, OK)}, porcupine.Illegal, porcupine.Illegal},
		{"versions that start again", []RegisterOp{create, gone, {Call: 7, Return: 8, Kind: RegisterCreate, Value: 9, Outcome: OK}, get(9, 10, 1, 0, 9)}, porcupine.Ok, porcupine.Ok},
		{"a put across a delete", []RegisterOp{create, put(3, 4, 0, 2, OK), {Call: 5, Return: 6, Kind: RegisterDelete, Expected: 1, Outcome: OK},
			{Call: 7, Return: 8, Kind: RegisterCreate, Value: 9, Outcome: OK}, put(9, 10, 1, 3, OK)}, porcupine.Illegal, porcupine.Illegal},
	} {
		if got := CheckRegister(c.ops, false, time.Second); got != c.strict {
			t.Errorf("%s: %s where gets are fresh, want %s", c.name, got, c.strict)
		}
		if got := CheckRegister(c.ops, true, time.Second); got != c.stale {
			t.Errorf("%s: %s where gets may be stale, want %s", c.name, got, c.stale)
		}
	}
}

package client

import (
	"testing"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host/oshost"
)

// TestACallInheritsNothingFromAnEarlierOne: what a call read with serves the next one only if no answer is still to come,
// since that would be taken for the answer to something else.
func TestACallInheritsNothingFromAnEarlierOne(t *testing.T) {
	h, err := oshost.New(oshost.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := &Reader{client: &Client{h: h, tasks: h.Root()}, mutex: h.NewMutex("reader"), digest: ledger.CRC32C}
	take := func() *fetcher {
		f, err := r.takeFetcher(&ledger.Metadata{})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first := take()
	first.ended = append(first.ended, &fetch{over: true})
	first.hear("a bookie")
	r.giveFetcher(first)
	second := take()
	if second != first {
		t.Error("a fetcher without anything under way is thrown away")
	}
	if len(second.active)+len(second.ended)+len(second.handed)+len(second.heard) != 0 || second.ended[:1][0] != nil {
		t.Errorf("it brings something along: %+v", second)
	}
	late := &attempt{inbox: second.inbox}
	second.asking = 1
	r.giveFetcher(second)
	if third := take(); third == second || third.inbox == second.inbox {
		t.Error("a fetcher that an answer is still owed to is used again")
	}
	if late.inbox.put(late) {
		t.Error("a late answer is kept although nobody takes it")
	}
}

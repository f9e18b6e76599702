package metadata_test

import (
	"math"
	"testing"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
)

// TestGoldenKeys: BookKeeper's tools look for a cluster's parts at these keys.
func TestGoldenKeys(t *testing.T) {
	l := metadata.Layout{Root: metadata.DefaultRoot}
	for want, got := range map[string]string{
		"/ledgers/LAYOUT":                            l.LayoutKey(),
		"/ledgers/INSTANCEID":                        l.InstanceIDKey(),
		"/ledgers/available/b:3181":                  l.WritableKey("b:3181"),
		"/ledgers/available/readonly/b:3181":         l.ReadOnlyKey("b:3181"),
		"/ledgers/cookies/b:3181":                    l.CookieKey("b:3181"),
		"/ledgers/idgen/NEXT":                        l.NextIDKey(),
		"/ledgers/00/0000/L0000":                     l.LedgerKey(0),
		"/ledgers/00/0001/L2345":                     l.LedgerKey(12345),
		"/ledgers/21/4748/L3646":                     l.LedgerKey(1<<31 - 2),
		"/ledgers/000/0000/0021/4748/L3647":          l.LedgerKey(1<<31 - 1),
		"/ledgers/922/3372/0368/5477/L5807":          l.LedgerKey(math.MaxInt64),
		"/chroots/one/000/0000/1234/5678/L9012 same": metadata.Layout{Root: "/chroots/one"}.LedgerKey(123456789012) + " same",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestLedgersComeBackFromTheirKeys, and from no others.
func TestLedgersComeBackFromTheirKeys(t *testing.T) {
	l := metadata.Layout{Root: "/ledgers"}
	for _, id := range []ledger.ID{0, 9, 12345, 1<<31 - 2, 1<<31 - 1, 1 << 31, 1 << 40, math.MaxInt64} {
		if got, ok := l.ParseLedgerKey(l.LedgerKey(id)); got != id || !ok {
			t.Errorf("%s is ledger %d, %v", l.LedgerKey(id), got, ok)
		}
	}
	for _, key := range []string{
		"", "/", "/ledgers", "/ledgers/", "/ledgers/00/0000", "/ledgers/00/0000/0000", "/ledgers/00/0000/L000", "/ledgers/00/0000/L00000",
		"/ledgers/0000000/L0", "/ledger/00/0000/L0000", "/ledgers/-1/0000/L0000", "/ledgers/+1/0000/L0000", "/ledgers/00/L0000/0000",
		"/ledgers/21/4748/L3647", "/ledgers/000/0000/0000/0000/L0001", "/ledgers/922/3372/0368/5477/L5808",
		"/ledgers/999/9999/9999/9999/L9999", "/ledgers/available/b", "/ledgers/idgen/NEXT", "/ledgers/00/0000/L0000/x",
	} {
		if id, ok := l.ParseLedgerKey(key); ok {
			t.Errorf("%q is ledger %d", key, id)
		}
	}
}

// FuzzParseLedgerKey: a key is that of one ledger at most.
func FuzzParseLedgerKey(f *testing.F) {
	f.Add("/ledgers/00/0001/L2345")
	f.Add("/ledgers/922/3372/0368/5477/L5807")
	f.Fuzz(func(t *testing.T, key string) {
		l := metadata.Layout{Root: "/ledgers"}
		if id, ok := l.ParseLedgerKey(key); ok && l.LedgerKey(id) != key {
			t.Fatalf("%q is ledger %d at %q", key, id, l.LedgerKey(id))
		}
	})
}

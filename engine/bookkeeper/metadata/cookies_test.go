package metadata_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

func aCookie() metadata.Cookie {
	return metadata.Cookie{Bookie: "bookie-0:3181", JournalDir: "journal", LedgerDirs: "1\tledger", InstanceID: "abc/12"}
}

// TestGoldenCookie: BookKeeper's tools read this text, and ours reads what they write.
func TestGoldenCookie(t *testing.T) {
	const text = "5\nbookieHost: \"bookie-0:3181\"\njournalDir: \"journal\"\nledgerDirs: \"1\\tledger\"\ninstanceId: \"abc/12\"\n"
	if got := string(aCookie().Encode()); got != text {
		t.Errorf("got  %q\nwant %q", got, text)
	}
	full := aCookie()
	full.IndexDirs, full.Bookie = "1\tindex", "it's \"new\"\n"
	for want, stored := range map[metadata.Cookie]string{
		aCookie(): text,
		full:      string(full.Encode()),
		{Bookie: "b", JournalDir: "/j,/k", LedgerDirs: "2\t/a\t/b"}: "5\nbookieHost:'b' journalDir: \"/j,\" \"/k\"\nledgerDirs: \"2\\t/a\\t/b\"",
	} {
		if got, err := metadata.DecodeCookie([]byte(stored)); err != nil || got != want {
			t.Errorf("%q is %+v, %v, want %+v", stored, got, err, want)
		}
	}
	for _, wrong := range []string{"", "4\n", "5", text[2:], text + "other: \"x\"\n", text + "instanceId: \"abc/12\"\n", text[:len(text)-3],
		"5\nbookieHost: \"b\"\njournalDir: \"j\"\n", "5\nbookieHost: 1\njournalDir: \"j\"\nledgerDirs: \"1\"", string(make([]byte, 65<<10))} {
		if got, err := metadata.DecodeCookie([]byte(wrong)); !errors.Is(err, metadata.ErrContent) {
			t.Errorf("%.100q is %+v, %v", wrong, got, err)
		}
	}
}

// FuzzDecodeCookie: any text is a cookie or is refused, and a cookie comes back from what is written of it.
func FuzzDecodeCookie(f *testing.F) {
	f.Add(aCookie().Encode())
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := metadata.DecodeCookie(text)
		if err != nil {
			if !errors.Is(err, metadata.ErrContent) {
				t.Fatal(err)
			}
			return
		}
		if again, err := metadata.DecodeCookie(c.Encode()); len(c.Encode()) <= 64<<10 && (err != nil || again != c) {
			t.Fatalf("%+v came back as %+v, %v", c, again, err)
		}
	})
}

// The bytes were put together outside of this program, from the message's definition.
const goldenInfo = "32210a06626f6f6b696510ed181a08626f6f6b69652d30220a626f6f6b69652d7270633a060a016b120176"

func someInfo() metadata.BookieServiceInfo {
	return metadata.BookieServiceInfo{
		Endpoints:  []metadata.Endpoint{{ID: "bookie", Port: 3181, Host: "bookie-0", Protocol: metadata.BookieRPC}},
		Properties: []metadata.Property{{Key: "k", Value: "v"}},
	}
}

// TestGoldenBookieInfo, and that nothing at all means the address that is the bookie's id.
func TestGoldenBookieInfo(t *testing.T) {
	golden, err := hex.DecodeString(goldenInfo)
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(someInfo().Append(nil)); got != goldenInfo {
		t.Errorf("got  %s\nwant %s", got, goldenInfo)
	}
	if got, err := metadata.DecodeBookieInfo("x", golden); err != nil || !reflect.DeepEqual(got, someInfo()) {
		t.Errorf("read %+v, %v", got, err)
	}
	want := someInfo()
	legacy, err := metadata.DecodeBookieInfo("bookie-0:3181", nil)
	if want.Properties = nil; err != nil || !reflect.DeepEqual(legacy, want) {
		t.Errorf("legacy %+v, %v", legacy, err)
	}
	twice := append(golden, "\x3a\x06\x0a\x01a\x12\x01b\x3a\x06\x0a\x01k\x12\x01w\x08\x01"...)
	got, err := metadata.DecodeBookieInfo("x", twice)
	if err != nil || got.Property("k") != "w" || got.Property("a") != "b" || got.Property("c") != "" || len(got.Properties) != 2 {
		t.Errorf("of a property that comes twice the last one counts: %+v, %v", got, err)
	}
	for _, id := range []string{"no-port", ":3181", "h:", "h:65536", "h:-1"} {
		if got, err := metadata.LegacyInfo(ledger.BookieID(id)); !errors.Is(err, metadata.ErrContent) {
			t.Errorf("%q is an address: %+v, %v", id, got, err)
		}
	}
	for _, wrong := range []string{"x", "\x32\x02\x10", "\x32\x04\x10\x80\x80\x04", "\x30\x01", "\x3a\x02\x08\x01", string(make([]byte, 65<<10))} {
		if got, err := metadata.DecodeBookieInfo("x", []byte(wrong)); !errors.Is(err, metadata.ErrContent) {
			t.Errorf("%.20q is %+v, %v", wrong, got, err)
		}
	}
}

// FuzzDecodeBookieInfo: any bytes are refused, or come back from what is written of them.
func FuzzDecodeBookieInfo(f *testing.F) {
	f.Add(someInfo().Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		info, err := metadata.DecodeBookieInfo("b:1", b)
		if err != nil {
			if !errors.Is(err, metadata.ErrContent) {
				t.Fatal(err)
			}
			return
		}
		data := info.Append(nil)
		if len(data) == 0 || len(data) > 64<<10 {
			return // nothing but unknown fields; or longer, since absent fields are written, too
		}
		if again, err := metadata.DecodeBookieInfo("b:1", data); err != nil || !reflect.DeepEqual(again, info) {
			t.Fatalf("%+v came back as %+v, %v", info, again, err)
		}
	})
}

// TestAllMembersFindTheSameCluster: whoever initializes it, and whatever becomes of answers, its identity is one, a UUID.
func TestAllMembersFindTheSameCluster(t *testing.T) {
	uuid := regexp.MustCompile("^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
	all := map[string]bool{}
	for seed := range seeds(20) {
		var found [3]string
		var clients []client
		for i := range found {
			clients = append(clients, func(h host.Host, store metadata.Store) (err error) {
				f := &flaky{Store: store, random: h.Rand("faults"), permille: 300}
				c := metadata.NewCookies(h, h.Root(), f, metadata.Layout{Root: "/ledgers"}, metadata.DefaultRetry())
				if _, err := c.InstanceID(nil); err != nil && !errors.Is(err, metadata.ErrNotInitialized) {
					return err
				}
				found[i], err = c.Initialize(nil)
				return err
			})
		}
		inWorld(t, seed, clients...)
		if found[0] != found[1] || found[0] != found[2] || !uuid.MatchString(found[0]) || all[found[0]] {
			t.Errorf("seed %d: %q", seed, found)
		}
		all[found[0]] = true
	}
}

// TestACookieHasOneOwner: of different cookies for one bookie the first one stays, and an equal one is one's own.
func TestACookieHasOneOwner(t *testing.T) {
	for seed := range seeds(40) {
		owners := 0
		var clients []client
		for i := range 3 {
			clients = append(clients, func(h host.Host, store metadata.Store) error {
				f := &flaky{Store: store, random: h.Rand("faults"), permille: 300}
				c := metadata.NewCookies(h, h.Root(), f, metadata.Layout{Root: "/ledgers"}, metadata.DefaultRetry())
				mine := aCookie()
				mine.InstanceID = fmt.Sprint("cluster/", i)
				err := c.Create(mine, nil)
				f.settle()
				found, version, readErr := c.Read(mine.Bookie, nil)
				if readErr != nil {
					return readErr
				}
				if err == nil {
					owners++
					h.Root().Sleep(time.Minute)
					err = c.Create(mine, nil) // again, as a process would that never got the answer
					deleted := c.Delete(mine.Bookie, version, nil)
					if errors.Is(deleted, metadata.ErrOutcomeUnknown) {
						deleted = nil // it did not dare to
					}
					return errors.Join(err, deleted)
				}
				if found == mine {
					return fmt.Errorf("the owner was told %w", err)
				}
				return is("another's cookie", err, metadata.ErrExist)
			})
		}
		inWorld(t, seed, clients...)
		if owners != 1 {
			t.Errorf("seed %d: %d owners", seed, owners)
		}
	}
}

// TestAForeignLayoutIsTold: its ledgers would not be found.
func TestAForeignLayoutIsTold(t *testing.T) {
	inWorld(t, 1, func(h host.Host, store metadata.Store) error {
		l := metadata.Layout{Root: "/ledgers"}
		c := metadata.NewCookies(h, h.Root(), store, l, metadata.DefaultRetry())
		_, none := c.InstanceID(nil)
		if _, err := store.Create(l.LayoutKey(), []byte("2\norg.apache.bookkeeper.meta.FlatLedgerManagerFactory:1"), metadata.Persistent, nil); err != nil {
			return err
		}
		_, foreign := c.Initialize(nil)
		return errors.Join(is("nothing", none, metadata.ErrNotInitialized), is("another layout", foreign, metadata.ErrContent))
	})
}

// TestALateDeletionLeavesTheNextCookieAlone: versions start over when a key comes back, so that a deletion whose answer was
// lost could take the cookie of the bookie that started anew, and its next wiped disk would be let in.
func TestALateDeletionLeavesTheNextCookieAlone(t *testing.T) {
	late, deleted := 0, 0
	for seed := range seeds(60) {
		inWorld(t, seed, func(h host.Host, store metadata.Store) error {
			f := &flaky{Store: store, random: h.Rand("faults"), permille: 500}
			l, retry := metadata.Layout{Root: "/ledgers"}, metadata.DefaultRetry()
			sure := metadata.NewCookies(h, h.Root(), store, l, retry)
			operator := metadata.NewCookies(h, h.Root(), f, l, retry)
			old, next := aCookie(), aCookie()
			next.InstanceID = "abc/34"
			if err := sure.Create(old, nil); err != nil {
				return err
			}
			gone := false
			for range 20 {
				_, version, err := operator.Read(old.Bookie, nil)
				if err == nil {
					err = operator.Delete(old.Bookie, version, nil)
				}
				if gone = err == nil || errors.Is(err, metadata.ErrNotExist); gone {
					break
				}
				if !errors.Is(err, metadata.ErrOutcomeUnknown) && !errors.Is(err, metadata.ErrSessionExpired) && !errors.Is(err, metadata.ErrVersion) {
					return err
				}
				f.settle() // the operator has waited
			}
			if !gone {
				return errors.New("the cookie cannot be deleted")
			}
			deleted++
			if err := sure.Create(next, nil); err != nil {
				return err
			}
			late += len(f.late)
			f.settle()
			found, _, err := sure.Read(old.Bookie, nil)
			if err != nil || found != next {
				return fmt.Errorf("after what was late the cookie is %+v, %w", found, err)
			}
			return nil
		})
	}
	if !testing.Short() && late < 5 {
		t.Errorf("weak: %d requests were late in %d deletions", late, deleted)
	}
	t.Logf("%d requests were late in %d deletions", late, deleted)
}

// TestANewClusterHasTheKeysThatUpstreamLooksFor: its clients take a missing list of bookies for an error, not for an empty
// one.
func TestANewClusterHasTheKeysThatUpstreamLooksFor(t *testing.T) {
	inWorld(t, 1, func(h host.Host, store metadata.Store) error {
		c := metadata.NewCookies(h, h.Root(), store, metadata.Layout{Root: "/ledgers"}, metadata.DefaultRetry())
		if _, err := c.Initialize(nil); err != nil {
			return err
		}
		for _, key := range []string{"/ledgers/LAYOUT", "/ledgers/INSTANCEID", "/ledgers/available", "/ledgers/available/readonly"} {
			if _, err := store.Get(key, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

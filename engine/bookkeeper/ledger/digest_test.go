package ledger_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"

	"lakebed/engine/bookkeeper/ledger"
)

var digestTypes = []ledger.DigestType{ledger.CRC32, ledger.MAC, ledger.CRC32C, ledger.Dummy}

func newDigester(t testing.TB, digest ledger.DigestType, password string) *ledger.Digester {
	t.Helper()
	d, err := ledger.NewDigester(digest, []byte(password))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// sealed is entry 0 of ledger 1 with the payload "hello".
func sealed(d *ledger.Digester) []byte {
	p := append(make([]byte, d.Overhead()), "hello"...)
	ledger.PutHeader(p, 1, 0, ledger.NoEntry, 5)
	d.Seal(p)
	return p
}

// TestGoldenDigests: values that were computed outside of this program.
func TestGoldenDigests(t *testing.T) {
	for digest, want := range map[ledger.DigestType]string{
		ledger.CRC32:  "0000000030a56872",
		ledger.MAC:    "00107b7f219e26462e04e16e6e7a7f41e046e090",
		ledger.CRC32C: "e3a5f74d",
		ledger.Dummy:  "",
	} {
		d := newDigester(t, digest, "")
		p := sealed(d)
		if got := hex.EncodeToString(p[ledger.HeaderBytes:d.Overhead()]); got != want || d.Bytes() != len(want)/2 {
			t.Errorf("%v: %s of %d bytes, want %s", digest, got, d.Bytes(), want)
		}
	}
	packet := newDigester(t, ledger.CRC32C, "").AppendLAC(nil, 1, 0)
	if got := hex.EncodeToString(packet); got != "00000000000000010000000000000000b64e4ca2" {
		t.Errorf("explicit LAC %s", got)
	}
	for password, want := range map[string]string{
		"": "850bf1071c5e3d8c24235676f8816ae0cbe2f14f", "passwd": "9596625852f7fafc2c9cf0f9f7f3e5995206452b",
	} {
		if got := fmt.Sprintf("%x", ledger.MasterKeyOf([]byte(password))); got != want {
			t.Errorf("master key of %q is %s, want %s", password, got, want)
		}
	}
}

// TestEveryFlippedBitIsSeen, wherever it is, and nothing else is refused; without a digest only the ids are.
func TestEveryFlippedBitIsSeen(t *testing.T) {
	for _, digest := range digestTypes {
		d := newDigester(t, digest, "secret")
		p := sealed(d)
		if payload, err := d.Verify(p, 1, 0); string(payload) != "hello" || err != nil {
			t.Errorf("%v: %q, %v", digest, payload, err)
		}
		for bit := range len(p) * 8 {
			p[bit/8] ^= 1 << (bit % 8)
			_, err := d.Verify(p, 1, 0)
			if must := digest != ledger.Dummy || bit < 128; must != errors.Is(err, ledger.ErrDigest) {
				t.Errorf("%v with bit %d flipped: %v", digest, bit, err)
			}
			p[bit/8] ^= 1 << (bit % 8)
		}
		for n := range d.Overhead() {
			if _, err := d.Verify(p[:n], 1, 0); !errors.Is(err, ledger.ErrDigest) {
				t.Errorf("%v cut to %d bytes: %v", digest, n, err)
			}
		}
	}
}

// TestOnlyTheEntryAskedForIsTaken: another one is as wrong as a damaged one. Any one of the ledger will do for "your last".
func TestOnlyTheEntryAskedForIsTaken(t *testing.T) {
	for _, digest := range digestTypes {
		d := newDigester(t, digest, "secret")
		p := sealed(d)
		for _, c := range []struct {
			id    ledger.ID
			entry ledger.EntryID
			good  bool
		}{{1, 0, true}, {1, ledger.NoEntry, true}, {1, 1, false}, {2, 0, false}, {2, ledger.NoEntry, false}} {
			if _, err := d.Verify(p, c.id, c.entry); c.good != (err == nil) || !c.good && !errors.Is(err, ledger.ErrDigest) {
				t.Errorf("%v: asked for entry %d of ledger %d: %v", digest, c.entry, c.id, err)
			}
		}
		ledger.PutHeader(p, 1, -2, ledger.NoEntry, 5)
		d.Seal(p)
		if _, err := d.Verify(p, 1, ledger.NoEntry); !errors.Is(err, ledger.ErrDigest) {
			t.Errorf("%v: entry -2 as the last: %v", digest, err)
		}
	}
}

// TestExplicitLACsAreVerified, with the ledger they are of, and to the byte.
func TestExplicitLACsAreVerified(t *testing.T) {
	for _, digest := range digestTypes {
		d := newDigester(t, digest, "secret")
		for _, lac := range []ledger.EntryID{ledger.NoEntry, 0, 1 << 40} {
			packet := d.AppendLAC([]byte("before"), 7, lac)[len("before"):]
			if got, err := d.VerifyLAC(packet, 7); got != lac || err != nil {
				t.Errorf("%v: LAC %d, %v, want %d", digest, got, err, lac)
			}
			_, other := d.VerifyLAC(packet, 8)
			_, short := d.VerifyLAC(packet[:len(packet)-1], 7)
			_, long := d.VerifyLAC(append(packet, 0), 7)
			packet[3] ^= 1
			_, damaged := d.VerifyLAC(packet, 7)
			for _, err := range []error{other, short, long, damaged} {
				if !errors.Is(err, ledger.ErrDigest) {
					t.Errorf("%v: %v, %v, %v, %v", digest, other, short, long, damaged)
				}
			}
		}
	}
}

// TestPasswordsSeparateMACs, and nothing but MACs.
func TestPasswordsSeparateMACs(t *testing.T) {
	for _, digest := range digestTypes {
		_, err := newDigester(t, digest, "other").Verify(sealed(newDigester(t, digest, "secret")), 1, 0)
		if (digest == ledger.MAC) != (err != nil) {
			t.Errorf("%v: %v", digest, err)
		}
	}
	for _, digest := range []ledger.DigestType{ledger.DigestUnstored, 5, 255} {
		if d, err := ledger.NewDigester(digest, nil); err == nil {
			t.Errorf("a digester of type %d: %v", digest, d)
		}
	}
}

// TestSealingAndVerifyingCostNoMemory once the digester is made.
func TestSealingAndVerifyingCostNoMemory(t *testing.T) {
	for _, digest := range digestTypes {
		d := newDigester(t, digest, "secret")
		p := sealed(d)
		if n := testing.AllocsPerRun(100, func() {
			d.Seal(p)
			if _, err := d.Verify(p, 1, 0); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v: %v allocations", digest, n)
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	for _, digest := range digestTypes {
		b.Run(digest.String(), func(b *testing.B) {
			d := newDigester(b, digest, "secret")
			p := make([]byte, d.Overhead()+1024)
			b.SetBytes(1024)
			for b.Loop() {
				d.Seal(p)
			}
		})
	}
}

// FuzzVerify: any bytes are refused, or are an entry or an explicit LAC of the ledger that seals to the same bytes again.
func FuzzVerify(f *testing.F) {
	for digest := ledger.CRC32; digest <= ledger.Dummy; digest++ {
		d, err := ledger.NewDigester(digest, []byte("password"))
		if err != nil {
			f.Fatal(err)
		}
		stored := make([]byte, d.Overhead()+3)
		ledger.PutHeader(stored, 7, 3, 2, 3)
		d.Seal(stored)
		f.Add(uint8(digest), stored)
		f.Add(uint8(digest), d.AppendLAC(nil, 7, 3))
	}
	f.Fuzz(func(t *testing.T, digest uint8, b []byte) {
		d, err := ledger.NewDigester(ledger.DigestType(digest), []byte("password"))
		if err != nil {
			return
		}
		if payload, err := d.Verify(b, 7, ledger.NoEntry); err == nil {
			again := bytes.Clone(b)
			if d.Seal(again); !bytes.Equal(again, b) || len(payload) != len(b)-d.Overhead() {
				t.Fatalf("%x seals to %x, payload %x", b, again, payload)
			}
			if id, entry, err := ledger.Key(b); id != 7 || entry < 0 || err != nil {
				t.Fatalf("entry %d of ledger %d was taken, %v", entry, id, err)
			}
		} else if !errors.Is(err, ledger.ErrDigest) {
			t.Fatal(err)
		}
		if lac, err := d.VerifyLAC(b, 7); err == nil {
			if again := d.AppendLAC(nil, 7, lac); !bytes.Equal(again, b) {
				t.Fatalf("%x is %x again", b, again)
			}
		} else if !errors.Is(err, ledger.ErrDigest) {
			t.Fatal(err)
		}
	})
}

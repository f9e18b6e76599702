package ledger_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"lakebed/engine/bookkeeper/ledger"
)

// The bytes were put together outside of this program, from the message's definition.
const (
	goldenClosed = "426f6f6b69654d65746164617461466f726d617456657273696f6e09330a73080210031887ad4b20632803321d0a0762313a33313831" +
		"0a0762323a333138310a0762333a333138311000321d0a0762313a333138310a0762343a333138310a0762333a33313831103238034206" +
		"70617373776448025080d095ffbc315a090a036170701202000160fbffffffffffffffff01"
	goldenOpen = "426f6f6b69654d65746164617461466f726d617456657273696f6e09330a2b08021002180020ffffffffffffffffff01280132140a07" +
		"62313a333138310a0762323a3331383110004801"
)

// TestGoldenMetadata: BookKeeper's clients read and write these bytes.
func TestGoldenMetadata(t *testing.T) {
	for golden, m := range map[string]ledger.Metadata{goldenClosed: closedLedger(), goldenOpen: openLedger()} {
		if got := hex.EncodeToString(m.Append(nil)); got != golden {
			t.Errorf("got  %s\nwant %s", got, golden)
		}
		b, err := hex.DecodeString(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ledger.DecodeMetadata(b); err != nil || !got.Equal(m) {
			t.Errorf("read %+v, %v\nwant %+v", got, err, m)
		}
	}
}

const head = "BookieMetadataFormatVersion\t"

// The same ledgers as older clients wrote them.
const (
	lines = head + "1\n2\n3\n0\n0\tb1:3181\tb2:3181\tb3:3181\n50\tb1:3181\tb4:3181\tb3:3181"
	text  = head + "2\n" + `quorumSize: 2
ensembleSize: 3
length: 1234567
lastEntryId: 99
state: CLOSED
segment {
  ensembleMember: "b1:3181"
  ensembleMember: "b2:3181"
  ensembleMember: "b3:3181"
  firstEntryId: 0
}
segment {
  ensembleMember: "b1:3181"
  ensembleMember: "b4:3181"
  ensembleMember: "b3:3181"
  firstEntryId: 50
}
digestType: CRC32C
password: "pass" 'wd'
ackQuorumSize: 2
ctime: 1700000000000
customMetadata {
  key: "app"
  value: "\000\x01"
}
`
)

// TestOlderFormatsAreRead, to what they meant: the ack quorum was the write quorum, and the application knew the password.
func TestOlderFormatsAreRead(t *testing.T) {
	old := closedLedger()
	old.Digest, old.Password, old.Created, old.Custom, old.Token = ledger.DigestUnstored, nil, 0, nil, 0
	open, recovering, closed, withText := old.Clone(), old.Clone(), old.Clone(), closedLedger()
	open.State, open.LastEntry, open.Length = ledger.Open, ledger.NoEntry, 0
	recovering.State, recovering.LastEntry, recovering.Length = ledger.InRecovery, ledger.NoEntry, 0
	closed.Length = 7
	withText.Token = 0
	zero := withText.Clone()
	zero.LastEntry = 0
	withoutAck := openLedger()
	withoutAck.Quorum.Ack = 2
	for name, c := range map[string]struct {
		stored string
		want   ledger.Metadata
	}{
		"open in lines":                      {lines, open},
		"in recovery in lines":               {lines + "\n-102\tCLOSED", recovering},
		"closed in lines":                    {strings.Replace(lines, "\n0\n", "\n7\n", 1) + "\n99\tCLOSED\n", closed},
		"closed in text":                     {text, withText},
		"closed in text, without last entry": {strings.Replace(text, "lastEntryId: 99\n", "", 1), zero},
		"text without ack quorum": {head + "2\nquorumSize:2,ensembleSize:2;length:0 state:1 # open\n" +
			`segment:<ensembleMember:"b1:3181" ensembleMember:"b2:3181" firstEntryId:0>`, withoutAck},
	} {
		if got, err := ledger.DecodeMetadata([]byte(c.stored)); err != nil || !got.Equal(c.want) {
			t.Errorf("%s: %+v, %v\nwant %+v", name, got, err, c.want)
		}
	}
}

// TestAbsentFieldsMeanWhatUpstreamTakesThemFor.
func TestAbsentFieldsMeanWhatUpstreamTakesThemFor(t *testing.T) {
	const fragment = "\x32\x14\x0a\x07b1:3181\x0a\x07b2:3181\x10\x00"
	const least = "\x08\x02\x10\x02\x18\x00\x28\x01" + fragment
	binary := func(message string) []byte { return []byte(head + "3\n" + string(rune(len(message))) + message) }
	want := openLedger()
	want.Quorum.Ack = 2
	for name, c := range map[string]struct {
		message  string
		digest   ledger.DigestType
		password string
	}{
		"least":                   {least, ledger.DigestUnstored, ""},
		"digest without password": {least + "\x38\x03", ledger.DigestUnstored, ""},
		"password without digest": {least + "\x42\x01x", ledger.CRC32, "x"},
		"empty password":          {least + "\x42\x00\x38\x02", ledger.MAC, ""},
		"unknown fields":          {least + "\x68\x01\x72\x01x\x79\x00\x00\x00\x00\x00\x00\x00\x00\x85\x01\x00\x00\x00\x00", 0, ""},
		"last counts":             {"\x08\x07" + least, 0, ""},
		"length of an open one":   {least + "\x18\x05\x20\x05", 0, ""},
	} {
		want.Digest, want.Password = c.digest, []byte(c.password)
		if got, err := ledger.DecodeMetadata(binary(c.message)); err != nil || !got.Equal(want) {
			t.Errorf("%s: %+v, %v\nwant %+v", name, got, err, want)
		}
	}
	closed := want.Clone()
	closed.State, closed.LastEntry, closed.Length, closed.Digest, closed.Password = ledger.Closed, 0, 7, ledger.DigestUnstored, nil
	// A number that is absent is zero for upstream: read as "no entry", entry 0 would be lost.
	if got, err := ledger.DecodeMetadata(binary(least + "\x28\x03\x18\x07")); err != nil || !got.Equal(closed) {
		t.Errorf("closed without a last entry: %+v, %v\nwant %+v", got, err, closed)
	}
	for name, message := range map[string]string{
		"no quorum":       least[2:],
		"no ensemble":     least[:2] + least[4:],
		"no length":       least[:4] + least[6:],
		"no state":        least[:6] + fragment,
		"no fragment":     least[:8],
		"no first entry":  least[:8] + "\x32\x12" + fragment[2:20],
		"state is bytes":  least + "\x2a\x00",
		"wide quorum":     least + "\x08\x80\x80\x80\x80\x10",
		"unknown state":   least + "\x28\x04",
		"unknown digest":  least + "\x42\x00\x38\x05",
		"nameless custom": least + "\x5a\x02\x12\x00",
		"custom twice":    least + "\x5a\x02\x0a\x00\x5a\x02\x0a\x00",
		"cut in a field":  least + "\x42\x05x",
		"group":           least + "\x6b",
	} {
		if got, err := ledger.DecodeMetadata(binary(message)); !errors.Is(err, ledger.ErrMetadata) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestNothingElseIsTakenForMetadata: cut, lengthened, of another format, and text that does not fit.
func TestNothingElseIsTakenForMetadata(t *testing.T) {
	whole := closedLedger().Append(nil)
	wrong := map[string][]byte{"longer": append(bytes.Clone(whole), 0), "too long": make([]byte, ledger.MetadataBytesMax+1)}
	for n := range whole {
		wrong["cut to "+string(rune('0'+n))] = whole[:n]
	}
	for name, s := range map[string]string{
		"text with a digit that is none": strings.Replace(text, ": 99", ": 9_9", 1),
		"text with a binary number":      strings.Replace(text, ": 99", ": 0b11", 1),
		"text with a plus":               strings.Replace(text, ": 99", ": +99", 1),
		"format 4":                       head + "4\n",
		"format 03":                      head + "03\n" + string(whole[len(head)+2:]),
		"other name":                     "x" + string(whole),
		"no lines":                       head + "1\n",
		"line without a number":          strings.Replace(lines, "\n50", "\nx", 1),
		"wrong quorum":                   strings.Replace(lines, "1\n2\n", "1\nx\n", 1),
		"closed before a fragment":       strings.Replace(lines, "\n50\t", "\n5\tCLOSED\n50\t", 1),
		"text with unknown field":        text + "other: 1\n",
		"text with unknown state":        strings.Replace(text, ": CLOSED", ": SHUT", 1),
		"text with a bad number":         strings.Replace(text, ": 99", ": 9x", 1),
		"text that does not end":         strings.TrimSuffix(text, "}\n"),
		"text with unknown segment":      strings.Replace(text, "firstEntryId: 50", "first: 50", 1),
	} {
		wrong[name] = []byte(s)
	}
	for name, b := range wrong {
		if m, err := ledger.DecodeMetadata(b); !errors.Is(err, ledger.ErrMetadata) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

// FuzzDecodeMetadata: any bytes are refused or are valid metadata, and these come back from what is written of them.
func FuzzDecodeMetadata(f *testing.F) {
	f.Add(closedLedger().Append(nil))
	f.Add(openLedger().Append(nil))
	f.Add([]byte(lines))
	f.Add([]byte(lines + "\n-102\tCLOSED"))
	f.Add([]byte(text))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ledger.DecodeMetadata(b)
		if err != nil {
			if !errors.Is(err, ledger.ErrMetadata) {
				t.Fatal(err)
			}
			return
		}
		if err := m.Validate(); err != nil {
			t.Fatal(err)
		}
		again, err := ledger.DecodeMetadata(m.Append(nil))
		if err != nil || !again.Equal(m) {
			t.Fatalf("%+v came back as %+v, %v", m, again, err)
		}
	})
}

func BenchmarkDecodeMetadata(b *testing.B) {
	data := closedLedger().Append(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ledger.DecodeMetadata(data); err != nil {
			b.Fatal(err)
		}
	}
}

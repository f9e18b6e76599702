package sameness

import (
	"bufio"
	_ "embed" // the recorded workload
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"lakebed/engine/bookkeeper/ledger"
)

// Verb is what a step does.
type Verb string

// The verbs.
const (
	Create   Verb = "create"   // a ledger
	Append   Verb = "append"   // entries, and wait for all of them
	Close    Verb = "close"    // by its writer
	Abandon  Verb = "abandon"  // the writer walks away
	Recover  Verb = "recover"  // a ledger that was abandoned
	TakeOver Verb = "takeover" // recover a ledger whose writer lives, and see that the writer is out
	Delete   Verb = "delete"
	Kill     Verb = "kill"    // the bookie that stands at an index of a ledger's last ensemble
	Restart  Verb = "restart" // all bookies that were killed
)

// Name is what a script calls a ledger. Ids are given by the metadata store.
type Name string

// Step is one line of a script.
type Step struct {
	Verb   Verb
	Ledger Name // of all but Restart

	Quorum ledger.Quorum     // of Create
	Digest ledger.DigestType // of Create

	Entries  int // of Append
	BytesMin int // of Append: lengths of payloads
	BytesMax int

	Index int // of Kill
}

// Script is a workload.
type Script struct {
	Seed    uint64 // of what entries hold
	Bookies int
	Steps   []Step
}

// Bounds on scripts that are read: what every world can do in some seconds.
const (
	BookiesMax = 16
	StepsMax   = 10_000
	EntriesMax = 100_000
	BytesMax   = 1 << 20
)

// ErrScript says that a script cannot be read, or asks for what has no single right outcome.
var ErrScript = errors.New("no script")

//go:embed recorded.txt
var recorded string

// Recorded is the workload that worlds are compared by.
func Recorded() (Script, error) { return Parse(strings.NewReader(recorded)) }

// Parse reads a script, a step a line. What follows a number sign is a comment. The first line says "script seed S bookies B".
func Parse(r io.Reader) (Script, error) {
	var s Script
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		if err := s.take(words); err != nil {
			return Script{}, fmt.Errorf("line %d, %q: %w: %w", number, strings.TrimSpace(text), ErrScript, err)
		}
	}
	if err := lines.Err(); err != nil {
		return Script{}, fmt.Errorf("%w: %w", ErrScript, err)
	}
	return s, s.Validate()
}

func (s *Script) take(words []string) error {
	if s.Bookies == 0 {
		return s.takeHead(words)
	}
	if len(s.Steps) == StepsMax {
		return fmt.Errorf("more than %d steps", StepsMax)
	}
	step := Step{Verb: Verb(words[0])}
	want, err := 2, error(nil)
	switch step.Verb {
	case Create:
		want = 4
	case Append:
		want = 4
	case Kill:
		want = 3
	case Restart:
		want = 1
	case Close, Abandon, Recover, TakeOver, Delete:
	default:
		return errors.New("unknown verb")
	}
	if len(words) != want {
		return fmt.Errorf("%d words, want %d", len(words), want)
	}
	if want > 1 {
		step.Ledger = Name(words[1])
	}
	switch step.Verb {
	case Create:
		step.Quorum, step.Digest, err = parseCreate(words[2], words[3])
	case Append:
		step.Entries, step.BytesMin, step.BytesMax, err = parseAppend(words[2], words[3])
	case Kill:
		step.Index, err = strconv.Atoi(words[2])
	}
	s.Steps = append(s.Steps, step)
	return err
}

func (s *Script) takeHead(words []string) (err error) {
	if len(words) != 5 || words[0] != "script" || words[1] != "seed" || words[3] != "bookies" {
		return errors.New(`the first line must say "script seed S bookies B"`)
	}
	if s.Seed, err = strconv.ParseUint(words[2], 10, 64); err != nil {
		return err
	}
	if s.Bookies, err = strconv.Atoi(words[4]); err != nil || s.Bookies < 1 || s.Bookies > BookiesMax {
		return fmt.Errorf("bookies must be 1 to %d", BookiesMax)
	}
	return nil
}

// digests are the names of digests in scripts.
var digests = map[string]ledger.DigestType{"crc32": ledger.CRC32, "mac": ledger.MAC, "crc32c": ledger.CRC32C, "dummy": ledger.Dummy}

func digestName(t ledger.DigestType) string {
	for name, digest := range digests {
		if digest == t {
			return name
		}
	}
	return t.String()
}

func parseCreate(quorum, digest string) (q ledger.Quorum, t ledger.DigestType, err error) {
	parts := strings.Split(quorum, "/")
	if len(parts) != 3 {
		return q, t, errors.New("quorums must be E/Qw/Qa")
	}
	for i, to := range []*int{&q.Ensemble, &q.Write, &q.Ack} {
		if *to, err = strconv.Atoi(parts[i]); err != nil {
			return q, t, err
		}
	}
	t, ok := digests[digest]
	if !ok {
		return q, t, errors.New("unknown digest")
	}
	return q, t, nil
}

func parseAppend(count, lengths string) (entries, least, most int, err error) {
	if entries, err = strconv.Atoi(count); err != nil {
		return 0, 0, 0, err
	}
	from, to, ok := strings.Cut(lengths, "..")
	if !ok {
		return 0, 0, 0, errors.New("lengths must be FROM..TO")
	}
	if least, err = strconv.Atoi(from); err != nil {
		return 0, 0, 0, err
	}
	most, err = strconv.Atoi(to)
	return entries, least, most, err
}

// String writes a script as Parse reads it.
func (s Script) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "script seed %d bookies %d\n", s.Seed, s.Bookies)
	for _, step := range s.Steps {
		b.WriteString(step.String())
		b.WriteByte('\n')
	}
	return b.String()
}

func (s Step) String() string {
	switch s.Verb {
	case Create:
		return fmt.Sprintf("%s %s %s %s", s.Verb, s.Ledger, quorumText(s.Quorum), digestName(s.Digest))
	case Append:
		return fmt.Sprintf("%s %s %d %d..%d", s.Verb, s.Ledger, s.Entries, s.BytesMin, s.BytesMax)
	case Kill:
		return fmt.Sprintf("%s %s %d", s.Verb, s.Ledger, s.Index)
	case Restart:
		return string(s.Verb)
	}
	return fmt.Sprintf("%s %s", s.Verb, s.Ledger)
}

func quorumText(q ledger.Quorum) string { return fmt.Sprintf("%d/%d/%d", q.Ensemble, q.Write, q.Ack) }

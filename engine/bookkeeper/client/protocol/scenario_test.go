package protocol_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/internal/invariant"
)

var rewrite = flag.Bool("rewrite", false, "write what the scenarios do now into testdata; read the difference")

// TestScenarios: what the cores do, told step by step, as testdata/*.txt say. A file is blocks of commands, a line
// "----", and what happens then. Commands are explained in testdata/README.
func TestScenarios(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) { runScenario(t, name) })
	}
}

func runScenario(t *testing.T, name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s := &scenario{t: t}
	var out strings.Builder
	blocks := strings.Split(strings.TrimRight(string(text), "\n"), "\n\n")
	for i, block := range blocks {
		commands, want, isBlock := strings.Cut(block, "\n----")
		if !isBlock {
			fmt.Fprintf(&out, "%s\n\n", block)
			continue
		}
		s.told = nil
		for _, line := range strings.Split(commands, "\n") {
			if line != "" && !strings.HasPrefix(line, "#") {
				s.command(line)
			}
		}
		if len(s.told) == 0 {
			s.say("nothing")
		}
		got := strings.Join(s.told, "\n")
		fmt.Fprintf(&out, "%s\n----\n%s\n\n", commands, got)
		if want = strings.TrimPrefix(want, "\n"); got != want && !*rewrite {
			t.Fatalf("block %d:\n%s\n---- want\n%s\n---- got\n%s", i+1, commands, want, got)
		}
	}
	if *rewrite {
		if err := os.WriteFile(name, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// scenario holds one writer, one recovery, and what the metadata store has.
type scenario struct {
	t        *testing.T
	writer   *protocol.Writer
	recovery *protocol.Recovery
	stored   *ledger.Metadata
	version  metadata.Version
	calls    map[string]protocol.Effect // open metadata call, per core
	indexes  map[string]int             // core, entry, bookie → index it was last sent to
	told     []string
}

// command carries out a line. A broken invariant is told, and is the end of that core.
func (s *scenario) command(line string) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case invariant.Broken:
			s.say("invariant broken: %s", p.Message)
		default:
			panic(p)
		}
	}()
	words := strings.Fields(line)
	switch words[0] {
	case "store":
		s.stored, s.version = s.parse(words[1:]), s.version+1
		s.say("version %d: %s", s.version, describe(s.stored))
	case "w":
		s.writerCommand(words[1], words[2:])
		s.tell("w", s.takeWriter())
	case "r":
		s.recoveryCommand(words[1], words[2:])
		s.tell("r", s.recovery.Take())
	default:
		s.t.Fatalf("command %q", line)
	}
}

func (s *scenario) takeWriter() []protocol.Effect {
	if s.writer == nil {
		return nil
	}
	return s.writer.Take()
}

func (s *scenario) say(format string, args ...any) {
	s.told = append(s.told, fmt.Sprintf(format, args...))
}

// parse reads metadata: state[@last/length], then first:bookie,bookie… for each fragment.
func (s *scenario) parse(words []string) *ledger.Metadata {
	m := s.stored.Clone()
	m.LastEntry, m.Length, m.Fragments = ledger.NoEntry, 0, nil
	state, end, _ := strings.Cut(words[0], "@")
	m.State = map[string]ledger.State{"open": ledger.Open, "in-recovery": ledger.InRecovery, "closed": ledger.Closed}[state]
	if m.State == 0 {
		s.t.Fatalf("state %q", state)
	}
	if last, length, ok := strings.Cut(end, "/"); ok {
		m.LastEntry, m.Length = ledger.EntryID(s.number(last)), int64(s.number(length))
	}
	for _, word := range words[1:] {
		first, bookies, _ := strings.Cut(word, ":")
		f := ledger.Fragment{First: ledger.EntryID(s.number(first))}
		for _, b := range strings.Split(bookies, ",") {
			f.Ensemble = append(f.Ensemble, ledger.BookieID(b))
		}
		m.Fragments = append(m.Fragments, f)
	}
	return &m
}

func (s *scenario) number(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		s.t.Fatalf("number %q", word)
	}
	return n
}

// create makes the ledger that both cores work on: e=3 w=3 a=2.
func (s *scenario) create(options map[string]string) {
	q := ledger.Quorum{Ensemble: s.number(options["e"]), Write: s.number(options["w"]), Ack: s.number(options["a"])}
	m := &ledger.Metadata{Quorum: q, State: ledger.Open, LastEntry: ledger.NoEntry, Digest: ledger.CRC32C}
	f := ledger.Fragment{}
	for i := range q.Ensemble {
		f.Ensemble = append(f.Ensemble, ledger.BookieID("b"+strconv.Itoa(i)))
	}
	m.Fragments = []ledger.Fragment{f}
	s.stored, s.version = m, 1
	s.calls, s.indexes = map[string]protocol.Effect{}, map[string]int{}
}

func (s *scenario) writerCommand(verb string, args []string) {
	w := s.writer
	switch verb {
	case "new":
		options := split(args)
		s.create(options)
		s.writer = protocol.NewWriter(s.writerOptions(options), s.stored, s.version)
		s.say("version 1: %s", describe(s.stored))
	case "append":
		for range s.number(append(args, "1")[0]) {
			w.Append(10)
		}
	case "close":
		w.Close()
	case "replace":
		w.ReplacementsChosen(s.replacements(args))
	case "put", "get":
		w.MetadataAnswered(s.metadataCall("w", verb, args))
	case "state":
		s.say("LAC %d, pushed %d, room %d, changing %v, %v", w.LastAddConfirmed(), w.LastPushed(), w.Room(), w.Changing(), w.Failure())
	default:
		entry := ledger.EntryID(s.number(args[0]))
		w.AddAnswered(entry, s.index("w", args[0], args[1]), ledger.BookieID(args[1]), s.addOutcome(verb))
	}
}

func (s *scenario) writerOptions(options map[string]string) protocol.WriterOptions {
	o := protocol.WriterOptions{WindowMax: 16}
	_, o.DelayEnsembleChange = options["delay"]
	_, o.AckBeforeMetadata = options["ack-before-metadata"]
	if _, ok := options["new-ledger"]; ok {
		o.OnBookieFailure = protocol.NewLedger
	}
	for name, bound := range map[string]*int{"window": &o.WindowMax, "attempts": &o.AttemptsMax, "changes": &o.EnsembleChangesMax, "retry": &o.RetryReplacementAfter, "rounds": &o.RoundsMax} {
		if value, ok := options[name]; ok {
			*bound = s.number(value)
		}
	}
	switch options["lac"] {
	case "contiguous":
		o.LACRule = protocol.ContiguousWatermarks
	case "highest":
		o.LACRule = protocol.HighestWatermarks
	}
	return o
}

func (s *scenario) recoveryCommand(verb string, args []string) {
	switch verb {
	case "new":
		options := split(args)
		if _, ok := options["e"]; ok {
			s.create(options)
		}
		o := protocol.RecoveryOptions{ReadsMax: 2}
		_, o.ReadsDoNotFence = options["reads-do-not-fence"]
		_, o.NoLowerBound = options["no-lower-bound"]
		for name, bound := range map[string]*int{"reads": &o.ReadsMax, "attempts": &o.AttemptsMax, "restarts": &o.RestartsMax} {
			if value, ok := options[name]; ok {
				*bound = s.number(value)
			}
		}
		s.recovery = protocol.NewRecovery(o, s.stored, s.version)
		s.recovery.Start()
	case "replace":
		s.recovery.ReplacementsChosen(s.replacements(args))
	case "put", "get":
		s.recovery.MetadataAnswered(s.metadataCall("r", verb, args))
	case "lac":
		a := protocol.LACAnswer{Outcome: s.readOutcome(args[1])}
		if len(args) > 2 {
			a.LAC = ledger.EntryID(s.number(args[2]))
		}
		s.recovery.LACAnswered(s.index("r", "-1", args[0]), ledger.BookieID(args[0]), a)
	case "read":
		entry := ledger.EntryID(s.number(args[0]))
		a := protocol.ReadAnswer{Outcome: s.readOutcome(args[2]), Length: 10 * (int64(entry) + 1), Size: 10}
		s.recovery.ReadAnswered(entry, s.index("r", args[0], args[1]), ledger.BookieID(args[1]), a)
	default:
		entry := ledger.EntryID(s.number(args[0]))
		s.recovery.AddAnswered(entry, s.index("r", args[0], args[1]), ledger.BookieID(args[1]), s.addOutcome(verb))
	}
}

// metadataCall answers the open call: "put" does the write, "put lost" does it and the answer is lost, "put never" loses
// the request, "put unavailable" refuses it; "get" reads.
func (s *scenario) metadataCall(core, verb string, args []string) protocol.MetadataAnswer {
	e, open := s.calls[core]
	if !open || (verb == "put") != (e.Kind == protocol.WriteMetadata) {
		s.t.Fatalf("%s %s: the open call is %v", core, verb, e.Kind)
	}
	delete(s.calls, core)
	how := append(args, "")[0]
	switch {
	case how == "unavailable":
		return protocol.MetadataAnswer{Outcome: protocol.MetadataUnavailable}
	case how == "missing":
		return protocol.MetadataAnswer{Outcome: protocol.MetadataMissing}
	case how == "never":
		return protocol.MetadataAnswer{Outcome: protocol.MetadataUnknown}
	case verb == "get":
		return protocol.MetadataAnswer{Outcome: protocol.MetadataFound, Metadata: s.stored, Version: s.version}
	case e.Version == s.version:
		s.stored, s.version = e.Metadata, s.version+1
		s.say("version %d: %s", s.version, describe(s.stored))
	case how == "":
		s.say("refused: the version is %d", s.version)
		return protocol.MetadataAnswer{Outcome: protocol.MetadataConflict}
	}
	if how == "lost" {
		return protocol.MetadataAnswer{Outcome: protocol.MetadataUnknown}
	}
	return protocol.MetadataAnswer{Outcome: protocol.MetadataApplied, Version: s.version}
}

func (s *scenario) replacements(args []string) []protocol.Replacement {
	var chosen []protocol.Replacement
	for _, arg := range args {
		if index, bookie, ok := strings.Cut(arg, "="); ok {
			chosen = append(chosen, protocol.Replacement{Index: s.number(index), Bookie: ledger.BookieID(bookie)})
		}
	}
	return chosen
}

func (s *scenario) index(core, entry, bookie string) int {
	index, sent := s.indexes[core+entry+bookie]
	if !sent {
		s.t.Fatalf("%s: entry %s was not sent to %s", core, entry, bookie)
	}
	return index
}

func (s *scenario) addOutcome(word string) protocol.AddOutcome {
	for o := protocol.AddStored; o <= protocol.AddFailed; o++ {
		if o.String() == word {
			return o
		}
	}
	s.t.Fatalf("outcome %q", word)
	return 0
}

func (s *scenario) readOutcome(word string) protocol.ReadOutcome {
	for o := protocol.ReadFound; o <= protocol.ReadFailed; o++ {
		if o.String() == word {
			return o
		}
	}
	s.t.Fatalf("outcome %q", word)
	return 0
}

func split(args []string) map[string]string {
	options := map[string]string{}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		options[name] = value
	}
	return options
}

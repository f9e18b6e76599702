// Command fingerprint runs trials and prints of each what must be equal wherever it runs: the hash of its trace, how many
// events it had, and the hash of all disks at its end. It needs nothing but the engine and the laboratory, so that it can
// be built for targets that simrun cannot, such as GOOS=wasip1; interop/wasm compares the two.
//
// Exit codes: 0 all trials ended, whatever their verdicts; 2 wrong use; 3 the output could not be written.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"lakebed/trial"
)

// Exit codes, those of simrun.
const (
	exitOK          = 0
	exitUsage       = 2
	exitEnvironment = 3
)

const help = `usage: fingerprint [--seed N] [--seeds N] [--json] [SCENARIO…]

Run trials and print one line of each: scenario, seed, trace hash, events, hash of all disks at the end, verdict. The same
source gives the same lines on any machine, in any build. Without a scenario: all that ordinary campaigns draw from.

  go run ./cmd/fingerprint --seeds 5                # five seeds of each scenario
  go run ./cmd/fingerprint --seed 42 --seeds 1 cluster
  GOOS=wasip1 GOARCH=wasm go build -o fingerprint.wasm ./cmd/fingerprint

Verdicts are part of what is compared, and fail nothing here: judging is the work of simrun campaign.
Exit codes: 0 ok, 2 wrong use, 3 the output could not be written.

`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// asked is what the command line asks for.
type asked struct {
	scenarios []trial.Scenario
	first     uint64
	seeds     uint64
	json      bool
}

func run(arguments []string, out, problems io.Writer) int {
	a, err := parse(arguments, problems)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(problems, "fingerprint: %v\n", err)
		return exitUsage
	}
	if err := a.print(out); err != nil {
		fmt.Fprintf(problems, "fingerprint: print: %v\n", err)
		return exitEnvironment
	}
	return exitOK
}

func parse(arguments []string, problems io.Writer) (asked, error) {
	var a asked
	flags := flag.NewFlagSet("fingerprint", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.Usage = func() {
		fmt.Fprint(problems, help)
		flags.PrintDefaults()
	}
	flags.Uint64Var(&a.first, "seed", 0, "the first seed")
	flags.Uint64Var(&a.seeds, "seeds", 1, "how many seeds of each scenario")
	flags.BoolVar(&a.json, "json", false, "print a JSON object a line")
	if err := flags.Parse(arguments); err != nil {
		return a, err
	}
	if a.seeds == 0 {
		return a, errors.New("--seeds 0: must be more than nothing")
	}
	for _, name := range flags.Args() {
		s, err := trial.Find(name)
		if err != nil {
			return a, err
		}
		a.scenarios = append(a.scenarios, s)
	}
	if flags.NArg() > 0 {
		return a, nil
	}
	for _, s := range trial.Scenarios() {
		if s.Weight > 0 && !s.Canary {
			a.scenarios = append(a.scenarios, s)
		}
	}
	return a, nil
}

// print writes each line as soon as its trial has ended, for whoever waits.
func (a *asked) print(out io.Writer) error {
	w := bufio.NewWriter(out)
	for _, s := range a.scenarios {
		for i := range a.seeds {
			l := lineOf(trial.Run(trial.Options{Scenario: s, Seed: a.first + i}))
			if err := l.write(w, a.json); err != nil {
				return err
			}
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// line is what is told of one trial. Hashes are text: a JSON number does not hold 64 bits everywhere.
type line struct {
	Scenario  string        `json:"scenario"`
	Seed      uint64        `json:"seed"`
	TraceHash string        `json:"trace_hash"`
	Events    int64         `json:"events"`
	Image     string        `json:"image"`
	Verdict   trial.Verdict `json:"verdict"`
}

func lineOf(r trial.Result) line {
	return line{
		Scenario: r.Scenario, Seed: r.Seed, TraceHash: fmt.Sprintf("%016x", r.Hash), Events: r.Events,
		Image: fmt.Sprintf("%016x", r.Image), Verdict: r.Verdict,
	}
}

func (l *line) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(l)
	}
	_, err := fmt.Fprintf(w, "%s seed %d hash %s events %d image %s %s\n", l.Scenario, l.Seed, l.TraceHash, l.Events, l.Image, l.Verdict)
	return err
}

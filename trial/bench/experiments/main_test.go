package experiments

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

// TestMain lets this binary help experiments, as simrun does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "worker":
			exitWith(ServeWorker())
		case "fingerprints":
			first, err := strconv.ParseUint(os.Args[2], 10, 64)
			if err != nil {
				exitWith(err)
			}
			seeds, err := strconv.Atoi(os.Args[3])
			if err != nil {
				exitWith(err)
			}
			exitWith(WriteFingerprints(os.Stdout, first, seeds))
		}
	}
	os.Exit(m.Run())
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// helping is this binary as a program of experiments.
func helping() Program {
	return Program{Worker: []string{os.Args[0], "worker"}, Fingerprints: []string{os.Args[0], "fingerprints"}}
}

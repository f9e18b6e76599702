// Command simrun is the laboratory's and the engine's command line. See "simrun help".
//
// One file is one sub-command, and says what it takes and how it answers; what it does is done by the packages it calls.
// Exit codes: 0 ok, 1 a promise that was checked is broken, 2 wrong use, 3 the environment failed.
package main

import (
	"context"
	"os"

	"lakebed/trial"
	"lakebed/trial/campaign"
)

func main() {
	app := &app{
		catalogue: campaign.Catalogue{Run: trial.Run, Scenarios: trial.Scenarios(), RequiredMarks: trial.RequiredMarks()},
		out:       os.Stdout,
		err:       os.Stderr,
	}
	app.shrinker = app.shrinkCase
	os.Exit(app.run(context.Background(), os.Args[1:]))
}

// Package property draws trials for property tests with pgregory.net/rapid. A test of one's own, in a module of one's own,
// is then this file:
//
//	package mine
//
//	import (
//		"testing"
//
//		"pgregory.net/rapid"
//
//		"lakebed/trial"
//		"lakebed/trial/property"
//	)
//
//	func TestNothingAcknowledgedIsLost(t *testing.T) {
//		scenario, err := trial.Find("bookie")
//		if err != nil {
//			t.Fatal(err)
//		}
//		rapid.Check(t, func(t *rapid.T) {
//			property.Run(t, property.Draw(t, scenario))
//		})
//	}
//
// The module takes lakebed from a clone:
//
//	go mod init mine
//	go mod edit -require=lakebed@v0.0.0 -replace=lakebed=PATH/TO/CLONE
//	go mod tidy
//	go test
//
// "simrun campaign --help" lists the scenarios. rapid's flags say how much is tried: go test -rapid.checks=1000.
//
// What is drawn can be changed before it runs, and the result looked at, so that a test says what it is about: other
// faults, fewer clients, a mark that must be reached.
//
// # What it promises
//
//   - Each fault and each client operation is one group of draws, so that a failing test drops them one by one and then
//     makes what is left simpler: it ends with a few faults and operations, as simrun shrink does.
//   - Plans stay within what the promises survive. A test fails only if the engine breaks one.
//   - The same draws give the same trial.
//   - A failing trial of a scenario that the test has not changed is kept in the directory "failures" beside the test, the
//     smallest in the end, as a case that "simrun replay" takes: with --html it is one page that shows what happened.
//
// # What it does not promise
//
// That a test sees what a campaign sees: it draws fewer operations, and rapid prefers small trials. Hunting is for
// campaigns; this is for saying in a test, and in a second, what must hold around a change.
//
// # Does the test see anything?
//
// A test that cannot fail proves nothing, so plant a bug of the catalogue (package trial/defects). In the clone
//
//	go run ./cmd/simrun defects --overlay /tmp/planted
//
// writes all of them, switched off, and changes no source. In the module of the test
//
//	LAKEBED_DEFECT=last-file-not-replayed go test -overlay /tmp/planted/overlay.json -rapid.checks=400
//
// switches one on, and the test above fails:
//
//	[rapid] failed after 81 tests: seed 2 of bookie with 1 fault and 1 operation: violation
//
// followed by what the checkers say, by where the trial is kept, and by the draws that are left: the fault and the operation.
// In the clone,
//
//	go run ./cmd/simrun replay PATH/TO/mine/failures/TestNothingAcknowledgedIsLost.json --html failure.html
//
// draws it. Not every bug is seen by
// every test; "simrun defects --list" has more than a hundred. Without the overlay the variable would switch nothing on:
// Run then fails and says so.
package property

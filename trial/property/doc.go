// Package property draws trials for property tests with pgregory.net/rapid. A test of one's own then looks like this:
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
// What is drawn can be changed before it runs, and the result looked at, so that a test says what it is about: other
// faults, fewer clients, a mark that must be reached.
//
// # What it promises
//
//   - Each fault and each client operation is one group of draws, so that a failing test drops them one by one and then
//     makes what is left simpler: it ends with a few faults and operations, as simrun shrink does.
//   - Plans stay within what the promises survive. A test fails only if the engine breaks one.
//   - The same draws give the same trial.
//
// # What it does not promise
//
// That a test sees what a campaign sees: it draws fewer operations, and rapid prefers small trials. Hunting is for
// campaigns; this is for saying in a test, and in a second, what must hold around a change.
//
// With a planted bug a test must fail. The bugs need the overlay of package trial/defects, which "go test -overlay" takes as
// well; the environment variable LAKEBED_DEFECT then names one.
package property

// Package seamcheck holds the engine to the seam: it reports every use, under engine/, of something the simulator
// cannot control.
//
// # What it promises
//
// A package that passes asks the machine for nothing except through engine/host: it starts no goroutine, owns no
// channel and no lock of its own, reads no clock, opens no file and no socket, draws no random number that the seed
// does not decide, keeps no state outside what boot was given, and shows nobody the order of a map. Names are resolved
// by the type checker, so a renamed import, a dot import and a function kept as a value (var now = time.Now) are
// found like a plain call. Each finding names what to use instead.
//
// Imports are a closed list: a package of the standard library or of a third party that nobody has judged is reported
// until it stands in vocabulary.go with its reason.
//
// # What it does not promise
//
//   - Test files are exempt: they may run on the real machine.
//   - Drivers and oshost are exempt (Drivers in lakebed.go). The import rules keep them leaves, so that what they do
//     cannot leak into the rest.
//   - It does not look inside libraries, at addresses printed by %v, at floating point or at cap(). The determinism
//     stage of a campaign, which runs seeds twice and compares trace hashes, is the net under those.
//
// # How it works
//
// The go command compiles the packages and hands out the export data of what they import; each package is then
// type-checked from its sources against that data. Files that the go command leaves out (build constraints, assembly,
// cgo) are reported too: what the check cannot read, it cannot vouch for.
package seamcheck

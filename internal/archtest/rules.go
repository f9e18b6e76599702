package archtest

import "lakebed/internal/seamcheck"

// layer is what the packages of one top folder may import of ours, besides their own folder and internal/invariant.
// All folders here are relative to the module's root and stand for everything below them.
type layer struct {
	folder   string
	imports  []string
	tests    []string // besides imports, in test files
	external []string // besides tests, in external test packages
	rule     string
}

// publicFolder is the module's own folder, which holds the public package. Nothing lies below it: every other folder has a name.
const publicFolder = "."

// layers are the import rules between top folders.
var layers = []layer{
	{
		folder: publicFolder, imports: []string{"engine"},
		rule: "the root package imports engine: it is the engine's public face, and has nothing to do with the laboratory",
	},
	{
		folder: "cmd", imports: []string{"trial", "reports", "engine", "service", publicFolder}, tests: []string{"workloads", "faults", "sim", "model"},
		rule: "cmd imports trial, reports and engine, and service: a command has no logic of its own",
	},
	{
		folder: "service", imports: []string{"service", "engine"},
		rule: "service imports engine: it serves the stores over HTTP, and has nothing to do with the laboratory",
	},
	{
		folder: "trial", imports: []string{"workloads", "faults", "sim", "model", "reports", "engine", publicFolder},
		rule: "trial imports workloads, faults, sim, model, reports and engine: it yields verdicts and results, and does not know who shows them",
	},
	{
		folder: "reports",
		rule:   "reports imports nothing of ours: it renders what was recorded",
	},
	{
		folder: "workloads", imports: []string{"engine", "model"}, tests: []string{"sim"},
		rule: "workloads imports engine and model: the same workload drives a trial and a benchmark",
	},
	{
		folder: "faults", imports: []string{"sim"}, tests: []string{"engine/host"},
		rule: "faults imports sim: a plan breaks a world and knows nothing of what runs in it",
	},
	{
		folder: "sim", imports: []string{"engine/host"},
		rule: "sim imports engine/host only: it knows a node as boot(host.Host) error",
	},
	{
		folder: "model",
		rule:   "model imports nothing of ours: a specification must not share the engine's errors",
	},
	{
		folder: "engine", imports: []string{"engine"}, external: []string{"sim", "faults", "model"},
		rule: "nothing under engine imports the laboratory: whoever reads a line of the engine cannot tell which world it runs in",
	},
	{
		folder: "internal", imports: []string{"internal"},
		rule: "internal imports nothing of ours but internal: it serves all",
	},
}

// engineOrder lists the parts of the engine from low to high. A part imports itself and what stands on lines above its
// own; parts on one line are neighbours and do not know each other.
var engineOrder = [][]string{
	{"engine/host"},
	{"engine/commit", "engine/inspection", "engine/openfiles", "engine/protobuf"},
	{"engine/record", "engine/seglog", "engine/commitlog", "engine/echo"},
	{"engine/bookkeeper/ledger"},
	{"engine/bookkeeper/wire"},
	{"engine/bookkeeper/metadata"},
	{"engine/bookkeeper/bookie", "engine/bookkeeper/client"}, // they meet over the wire only
	{"engine/bookkeeper/repair"},
	{"engine/tier/bucket"},
	{"engine/tier/offload"},
	{"engine/topic/managed"},
	{"engine/topic/cursor"},
	{"engine/topic/dispatch"},
	{"engine/topic/broker"},
	{"engine/lake"},
	{"engine/cdc"},
}

// aside are the parts of engineOrder that stand on the seam and on what is below all formats (belowAside). Nothing else of
// the engine builds on them.
var aside = []string{"engine/seglog", "engine/commitlog", "engine/echo"}

// belowAside are the parts that those may import.
var belowAside = []string{"engine/host", "engine/commit", "engine/inspection", "engine/openfiles", "engine/protobuf"}

// testSupport are packages that tests are made of. They may build on any part of the engine, and only tests build on them.
var testSupport = []string{"engine/host/hosttest", "engine/bookkeeper/metadata/metatest", "service/servicetest"}

// reservation says that a folder may be imported only by the folders named, and by test files.
type reservation struct {
	folder string
	by     []string
	rule   string
}

func reservations() []reservation {
	var reserved []reservation
	for _, folder := range testSupport {
		reserved = append(reserved, reservation{
			folder: folder,
			rule:   "test support is imported by tests only: it is the contract of the engine, not a part of it",
		})
	}
	for _, driver := range seamcheck.Drivers() {
		reserved = append(reserved, reservation{
			folder: driver, by: []string{publicFolder, "cmd", "trial/bench"},
			rule: "drivers and oshost are imported by the root package, cmd, trial/bench and tests only: the rest gets them through an interface",
		})
	}
	reserved = append(reserved, reservation{
		folder: publicFolder, by: []string{"cmd", "trial/bench"},
		rule: "the root package is imported by cmd, trial/bench and tests only: it runs on real machines, and nothing of the laboratory does",
	})
	return reserved
}

// The sentences of the rules that have no table.
const (
	ruleOrder = "imports within the engine run from high to low, as listed in engineOrder"
	ruleAside = "seglog, commitlog and echo stand aside: they import engine/host, engine/commit, engine/inspection, engine/openfiles and engine/protobuf only, and nothing of the engine imports them"
	rulePlace = "every folder has a place in internal/archtest/rules.go; give it one"
	ruleData  = "testdata is data: nothing imports it"
)

package faults

import (
	"fmt"
	"strings"
)

// Kind names what an element does. The text is the one in plans, scenario files and reports.
type Kind string

// The kinds, grouped by what they break.
const (
	Kill      Kind = "kill"       // the process dies, the page cache stays
	PowerCut  Kind = "power-cut"  // the machine dies; Params.Survival says what is left of the unsynced
	Stop      Kind = "stop"       // SIGTERM
	Pause     Kind = "pause"      // no task of the node runs
	ClockJump Kind = "clock-jump" // the wall clock moves by Params.Jump
	Refuse    Kind = "refuse"     // the node refuses new connections

	ClockDrift     Kind = "clock-drift"     // both clocks run Params.PPM faster, or slower
	MemoryPressure Kind = "memory-pressure" // the page cache is emptied and holds nothing
	SlowReceiver   Kind = "slow-receiver"   // each read of a connection takes Params.Delay longer
	Clog           Kind = "clog"            // no byte comes or goes
	Swizzle        Kind = "swizzle"         // half of all nodes is clogged and unclogged in unrelated orders

	ReadError    Kind = "read-error"
	WriteError   Kind = "write-error"
	SyncError    Kind = "sync-error" // and the pages count as clean
	SyncDirError Kind = "syncdir-error"
	ShortRead    Kind = "short-read"
	ShortWrite   Kind = "short-write"
	NoSpace      Kind = "no-space"
	SlowDisk     Kind = "slow-disk"
	StuckDisk    Kind = "stuck-disk"

	BitRot Kind = "bit-rot" // flips bits of durable bytes
	Latent Kind = "latent"  // makes durable sectors unreadable
	Wipe   Kind = "wipe"    // the machine dies and comes back under its name with empty disks

	LostWrite        Kind = "lost-write"        // the device acknowledges a page and never writes it
	MisdirectedWrite Kind = "misdirected-write" // a page lands at another place of the volume
	LyingSync        Kind = "lying-sync"        // syncs report success, and a power cut may take all they were to keep

	Partition       Kind = "partition"
	OneWayPartition Kind = "one-way-partition" // from Target.Node to Target.Peer
	Reset           Kind = "reset"
	Stall           Kind = "stall"
	SlowLink        Kind = "slow-link"

	Perhaps Kind = "perhaps" // the probe's question at the trigger is answered with yes
)

// aim says what a kind is directed at, and so which parts of a Target it needs.
type aim uint8

const (
	atNode   aim = iota // Node
	atVolume            // Node, Volume, perhaps Path and Operation
	atLink              // Node, and Peer or all other nodes
	atPoint             // nothing: the trigger names it
	atWorld             // nothing: it draws its nodes when it strikes
)

// param is one parameter, as a set element.
type param uint32

const (
	paramFor param = 1 << iota
	paramTimes
	paramEvery
	paramRestartAfter
	paramStaysDown
	paramSurvival
	paramJump
	paramDelay
	paramFactor
	paramLength
	paramPPM
	paramAgain
)

// trait is what holds for all elements of a kind.
type trait struct {
	kind   Kind
	aim    aim
	takes  param   // the parameters that mean something
	needs  []param // of each set at least one must be given
	damage bool    // permanent: needs an allowance
}

// traits is the one table of kinds, in the order of lists and reports.
var traits = []trait{
	{kind: Kill, aim: atNode, takes: paramRestartAfter | paramStaysDown},
	{kind: PowerCut, aim: atNode, takes: paramSurvival | paramRestartAfter | paramStaysDown},
	{kind: Stop, aim: atNode, takes: paramRestartAfter | paramStaysDown},
	{kind: Pause, aim: atNode, takes: paramFor, needs: []param{paramFor}},
	{kind: ClockJump, aim: atNode, takes: paramJump, needs: []param{paramJump}},
	{kind: Refuse, aim: atNode, takes: paramFor, needs: []param{paramFor}},

	{kind: ClockDrift, aim: atNode, takes: paramFor | paramPPM, needs: []param{paramFor, paramPPM}},
	{kind: MemoryPressure, aim: atNode, takes: paramFor, needs: []param{paramFor}},
	{kind: SlowReceiver, aim: atNode, takes: paramFor | paramDelay, needs: []param{paramFor, paramDelay}},
	{kind: Clog, aim: atNode, takes: paramFor, needs: []param{paramFor}},
	{kind: Swizzle, aim: atWorld, takes: paramFor, needs: []param{paramFor}},

	{kind: ReadError, aim: atVolume, takes: paramFor | paramTimes | paramEvery, needs: []param{paramFor | paramTimes}},
	{kind: WriteError, aim: atVolume, takes: paramFor | paramTimes | paramEvery, needs: []param{paramFor | paramTimes}},
	{kind: SyncError, aim: atVolume, takes: paramFor | paramTimes | paramEvery, needs: []param{paramFor | paramTimes}},
	{kind: SyncDirError, aim: atVolume, takes: paramFor | paramTimes | paramEvery, needs: []param{paramFor | paramTimes}},
	{kind: ShortRead, aim: atVolume, takes: paramFor | paramTimes | paramEvery, needs: []param{paramFor | paramTimes}},
	{kind: ShortWrite, aim: atVolume, takes: paramFor | paramTimes | paramEvery, needs: []param{paramFor | paramTimes}},
	{kind: NoSpace, aim: atVolume, takes: paramFor, needs: []param{paramFor}},
	{kind: SlowDisk, aim: atVolume, takes: paramFor | paramDelay | paramFactor, needs: []param{paramFor, paramDelay | paramFactor}},
	{kind: StuckDisk, aim: atVolume, takes: paramFor, needs: []param{paramFor}},

	{kind: BitRot, aim: atVolume, takes: paramTimes | paramAgain, damage: true},
	{kind: Latent, aim: atVolume, takes: paramTimes | paramLength | paramFor, damage: true},
	{kind: LostWrite, aim: atVolume, takes: paramTimes, damage: true},
	{kind: MisdirectedWrite, aim: atVolume, takes: paramTimes, damage: true},
	{kind: LyingSync, aim: atVolume, takes: paramFor, needs: []param{paramFor}, damage: true},
	{kind: Wipe, aim: atNode, takes: paramRestartAfter, damage: true},

	{kind: Partition, aim: atLink, takes: paramFor, needs: []param{paramFor}},
	{kind: OneWayPartition, aim: atLink, takes: paramFor, needs: []param{paramFor}},
	{kind: Reset, aim: atLink},
	{kind: Stall, aim: atLink, takes: paramFor, needs: []param{paramFor}},
	{kind: SlowLink, aim: atLink, takes: paramFor | paramFactor, needs: []param{paramFor, paramFactor}},

	{kind: Perhaps, aim: atPoint},
}

// traitOf returns what is known of a kind, and nil if there is no such kind.
func traitOf(kind Kind) *trait {
	for i := range traits {
		if traits[i].kind == kind {
			return &traits[i]
		}
	}
	return nil
}

// Kinds returns all kinds.
func Kinds() []Kind {
	all := make([]Kind, len(traits))
	for i := range traits {
		all[i] = traits[i].kind
	}
	return all
}

// ParseKind finds the kind of this name.
func ParseKind(name string) (Kind, error) {
	if traitOf(Kind(name)) == nil {
		return "", fmt.Errorf("%w %q; there are %s", ErrUnknownKind, name, joined(Kinds()))
	}
	return Kind(name), nil
}

// Damages reports whether elements of this kind destroy synced bytes for good, so that the allowance must permit them.
func (k Kind) Damages() bool {
	t := traitOf(k)
	return t != nil && t.damage
}

func joined[T ~string](names []T) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, ", ")
}

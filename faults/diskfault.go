package faults

import (
	"math/rand/v2"
	"time"

	"lakebed/sim"
	"lakebed/sim/disk"
)

// diskFault is an element that has begun and is not over.
type diskFault struct {
	*Element
	volume *volume
	until  time.Duration // zero: no limit of time
	left   int64         // operations to hit; zero: no limit of number
	met    int64         // operations that it could have hit
	dice   *rand.Rand
}

// hits reports whether the fault takes its turn at an operation that concerns it, and counts. An operation that already
// fails is none of its business: an error must not be used up where another hides it.
func (f *diskFault) hits(effect *sim.DiskEffect) bool {
	if effect.Err != nil && f.fails() {
		return false
	}
	if f.met++; f.Params.Every > 1 && f.met%f.Params.Every != 0 {
		return false
	}
	f.left--
	return true
}

// fails reports whether the fault changes the outcome of an operation, and not only its time.
func (f *diskFault) fails() bool { return f.Kind != SlowDisk && f.Kind != StuckDisk }

// counts reports whether the fault is over after a number of operations.
func (f *diskFault) counts() bool { return f.Params.Times > 0 || f.loses() }

// loses reports whether the fault is a device that does not put pages where they belong.
func (f *diskFault) loses() bool { return f.Kind == LostWrite || f.Kind == MisdirectedWrite }

func (f *diskFault) concerns(op *sim.DiskOp) bool {
	set, _ := struck(f.Kind)
	if f.Target.Operation != "" {
		return f.Target.Operation == op.Kind.String() && matches(f.Target.Path, op.Path)
	}
	if (f.Kind == ShortRead || f.Kind == ShortWrite) && op.Length < 2 {
		return false // nothing shorter makes progress
	}
	if f.loses() && op.Length < disk.PageSize {
		return false // nothing to write
	}
	return set.has(op.Kind) && matches(f.Target.Path, op.Path)
}

// apply adds what the fault does to an operation.
func (f *diskFault) apply(op *sim.DiskOp, effect *sim.DiskEffect) {
	switch f.Kind {
	case ReadError, SyncDirError:
		effect.Err = errInputOutput
	case SyncError:
		effect.Err, effect.MarkClean = errInputOutput, true
	case WriteError:
		effect.Err = errInputOutput
		f.takePart(op, effect)
	case NoSpace:
		effect.Err = errNoSpace
		f.takePart(op, effect)
	case ShortRead, ShortWrite:
		short := 1 + int(f.dice.Int64N(op.Length-1))
		if effect.Short == 0 || short < effect.Short {
			effect.Short = short
		}
	case SlowDisk:
		effect.Delay += f.Params.Delay + time.Duration(max(f.Params.Factor-1, 0))*nominal(op)
	case StuckDisk:
		effect.Stuck = true
	case LyingSync:
		effect.Lie = true
	case LostWrite, MisdirectedWrite:
		f.lose(op, effect)
	}
}

// takePart lets one failing write in two take a part of its bytes before it fails.
func (f *diskFault) takePart(op *sim.DiskOp, effect *sim.DiskEffect) {
	effect.Short = 0
	if op.Kind == sim.DiskWrite && op.Length > 1 && f.dice.IntN(2) == 0 {
		effect.Short = 1 + int(f.dice.Int64N(op.Length-1))
	}
}

// nominal is what an operation takes on the standard disk. A factor counts in it, since a volume does not tell its own
// profile.
func nominal(op *sim.DiskOp) time.Duration {
	profile := sim.SSD()
	transfer := time.Duration(op.Length*int64(time.Second/time.Microsecond)/profile.BytesPerSecond) * time.Microsecond
	switch op.Kind {
	case sim.DiskRead:
		return profile.Seek + transfer
	case sim.DiskWrite:
		return profile.Cache
	case sim.DiskSync:
		return profile.Sync + transfer
	case sim.DiskSyncDir:
		return profile.Sync
	}
	return profile.Names
}

// operations is a set of kinds of operation.
type operations uint16

func operationsOf(kinds ...sim.DiskKind) operations {
	var set operations
	for _, k := range kinds {
		set |= 1 << k
	}
	return set
}

func (o operations) has(k sim.DiskKind) bool { return o>>k&1 == 1 }

const allOperations = 1<<(lastDiskKind+1) - 1

// struck returns which operations a kind hits, and to which it can be limited.
func struck(kind Kind) (usual, possible operations) {
	switch kind {
	case ReadError:
		return operationsOf(sim.DiskRead), operationsOf(sim.DiskRead, sim.DiskOpen, sim.DiskList)
	case WriteError:
		return operationsOf(sim.DiskWrite), operationsOf(sim.DiskWrite, sim.DiskCreate, sim.DiskRename, sim.DiskRemove, sim.DiskAllocate, sim.DiskTruncate)
	case SyncError:
		return operationsOf(sim.DiskSync), 0
	case SyncDirError:
		return operationsOf(sim.DiskSyncDir), 0
	case ShortRead:
		return operationsOf(sim.DiskRead), 0
	case ShortWrite:
		return operationsOf(sim.DiskWrite), 0
	case NoSpace:
		return operationsOf(sim.DiskWrite, sim.DiskCreate, sim.DiskAllocate), 0
	case SlowDisk, StuckDisk:
		return allOperations, allOperations
	case LostWrite, MisdirectedWrite:
		return operationsOf(sim.DiskSync), 0
	case LyingSync:
		return operationsOf(sim.DiskSync, sim.DiskSyncDir), 0
	}
	return 0, 0
}

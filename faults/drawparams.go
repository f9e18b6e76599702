package faults

import (
	"time"

	"lakebed/sim/disk"
)

// Bounds of drawn parameters.
const (
	clockJumpMax     = time.Hour
	slowFactorMax    = 100
	slowDelayMax     = 500 * time.Millisecond
	operationsHitMax = 16
	everyMax         = 8
	bitsRottenMax    = 4
	latentSectorsMax = 8 // such errors cluster (FAST 2008)
	latentErrorsMax  = 6
	rotAgainMax      = 3
	writesLostMax    = 3
	clockDriftMax    = 200_000 // ppm; far beyond real crystals, because trials are short
	slowReceiveMax   = 50 * time.Millisecond
)

// params draws what a kind needs. Nodes never stay down: whether a world can do without one is for the trial to know.
func (d drawing) params(kind Kind) Params {
	switch kind {
	case Kill, Stop, Wipe:
		return Params{RestartAfter: d.down()}
	case PowerCut:
		return Params{Survival: survivals[d.pick(int64(len(survivals)), "survival")], RestartAfter: d.down()}
	case Pause, Refuse, NoSpace, StuckDisk, Partition, OneWayPartition, Stall, Clog, MemoryPressure:
		return Params{For: d.length(8, "for")}
	case ClockJump:
		jump := time.Duration(d.upTo(int64(clockJumpMax/time.Millisecond), "jump")) * time.Millisecond
		if d.pick(2, "backwards") == 1 {
			jump = -jump
		}
		return Params{Jump: jump}
	case ReadError, WriteError:
		return d.some()
	case SyncError, SyncDirError:
		return Params{Times: d.upTo(3, "times")}
	case ShortRead, ShortWrite:
		return Params{For: d.length(4, "for"), Every: d.upTo(everyMax, "every")}
	case SlowDisk:
		return d.slow()
	case SlowLink:
		return Params{For: d.length(4, "for"), Factor: d.between(2, slowFactorMax, "factor")}
	case BitRot:
		p := Params{Times: d.upTo(bitsRottenMax, "times")}
		if d.pick(2, "worn") == 1 {
			p.Again = d.upTo(rotAgainMax, "again")
		}
		return p
	case Latent:
		return d.cluster()
	case LostWrite, MisdirectedWrite:
		return Params{Times: d.upTo(writesLostMax, "times")}
	case LyingSync, Swizzle:
		return Params{For: d.length(4, "for")}
	case SlowReceiver:
		delay := time.Duration(d.upTo(int64(slowReceiveMax/time.Millisecond), "delay")) * time.Millisecond
		return Params{For: d.length(8, "for"), Delay: delay}
	case ClockDrift:
		ppm := d.upTo(clockDriftMax, "ppm")
		if d.pick(2, "slower") == 1 {
			ppm = -ppm
		}
		return Params{For: d.length(4, "for"), PPM: ppm}
	}
	return Params{} // reset and perhaps have none
}

// cluster draws latent errors as they come: one alone, or several in a neighbourhood, perhaps one after the other.
func (d drawing) cluster() Params {
	p := Params{Times: 1, Length: disk.SectorSize * d.upTo(latentSectorsMax, "sectors")}
	if d.pick(2, "cluster") == 1 {
		p.Times = d.between(2, latentErrorsMax, "errors")
		p.For = d.length(8, "spread") * time.Duration(d.pick(2, "spreads"))
	}
	return p
}

// down is how long a node stays down. Sometimes it comes back at once, so that the next crash may hit its restart.
func (d drawing) down() time.Duration {
	if d.pick(5, "back at once") == 0 {
		return 0
	}
	return d.length(16, "restart after")
}

// some hits a few operations, or each k-th for a while.
func (d drawing) some() Params {
	if d.pick(2, "for a while") == 0 {
		return Params{Times: d.upTo(operationsHitMax, "times")}
	}
	return Params{For: d.length(16, "for"), Every: d.upTo(everyMax, "every")}
}

func (d drawing) slow() Params {
	p := Params{For: d.length(8, "for")}
	if d.pick(2, "delay") == 0 {
		p.Factor = d.between(2, slowFactorMax, "factor")
	} else {
		p.Delay = time.Duration(d.upTo(int64(slowDelayMax/time.Millisecond), "delay")) * time.Millisecond
	}
	return p
}

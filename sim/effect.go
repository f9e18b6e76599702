package sim

// What a node can be seen to suffer, as World.Effects names it. An effect is counted when a node meets it, not when the
// plan orders it: a partition that no byte ran into proves nothing.
const (
	EffectReadError        = "read-error"
	EffectWriteError       = "write-error"
	EffectSyncError        = "sync-error"
	EffectShortRead        = "short-read"
	EffectShortWrite       = "short-write"
	EffectNoSpace          = "no-space"
	EffectSlowDisk         = "slow-disk"
	EffectStuckDisk        = "stuck-disk"
	EffectTornPage         = "torn-page"
	EffectLostUnsynced     = "lost-unsynced"
	EffectLostName         = "lost-name"
	EffectBitRot           = "bit-rot"
	EffectLatentError      = "latent-error"
	EffectLostWrite        = "lost-write"
	EffectMisdirectedWrite = "misdirected-write"
	EffectLyingSync        = "lying-sync"
	EffectMemoryPressure   = "memory-pressure"
	EffectCrash            = "crash"
	EffectPowerCut         = "power-cut"
	EffectRestart          = "restart"
	EffectPause            = "pause"
	EffectClockJump        = "clock-jump"
	EffectClockDrift       = "clock-drift"
	EffectRefused          = "refused"
	EffectReset            = "reset"
	EffectStall            = "stall"
	EffectPartition        = "partition"
	EffectOneWayPartition  = "one-way-partition"
	EffectHalfOpen         = "half-open"
	EffectSplitRead        = "split-read"
	EffectSlowLink         = "slow-link"
	EffectSlowReceiver     = "slow-receiver"
	EffectClog             = "clog"
)

// EffectNames lists all of them, so that a report can show what was never seen.
func EffectNames() []string {
	return []string{
		EffectReadError, EffectWriteError, EffectSyncError, EffectShortRead, EffectShortWrite, EffectNoSpace,
		EffectSlowDisk, EffectStuckDisk, EffectTornPage, EffectLostUnsynced, EffectLostName, EffectBitRot,
		EffectLatentError, EffectLostWrite, EffectMisdirectedWrite, EffectCrash, EffectPowerCut, EffectRestart,
		EffectPause, EffectClockJump, EffectRefused, EffectReset, EffectStall, EffectPartition,
		EffectOneWayPartition, EffectHalfOpen, EffectSplitRead, EffectSlowLink, EffectClockDrift, EffectLyingSync,
		EffectMemoryPressure, EffectSlowReceiver, EffectClog,
	}
}

// Effects says how often each kind of fault was seen by a node. A fault that was ordered and met nobody does not count.
// The map is the caller's.
func (w *World) Effects() map[string]int64 {
	seen := make(map[string]int64, len(w.effects))
	for name, count := range w.effects {
		seen[name] = count
	}
	return seen
}

func (w *World) effect(name string) { w.effects[name]++ }

func (w *World) effectTimes(name string, times int) {
	if times > 0 {
		w.effects[name] += int64(times)
	}
}

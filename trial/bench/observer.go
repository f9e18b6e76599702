package bench

import (
	"sync"
	"sync/atomic"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/host"
)

// idlePoll is how often waiters look for the end of work in the background.
const idlePoll = time.Millisecond

// observer is a host whose probe hears what the engine says about itself: how large the journal's groups were, and
// whether work in the background is under way.
type observer struct {
	host.Host

	mutex  sync.Mutex
	groups []int64 // encoded bytes, in the order written

	rolled      atomic.Int64 // journal files taken after the first
	prepared    atomic.Int64 // journal files filled ahead
	checkpoints atomic.Int64
	slowed      atomic.Int64 // batches that a filling cache slowed or stopped
	flushing    atomic.Bool
}

func (o *observer) Probe() host.Probe       { return o }
func (o *observer) Active() bool            { return false }
func (o *observer) Perhaps(host.Point) bool { return false }
func (o *observer) Sample() bool            { return false }

// Mark runs inside the engine's tasks, some of them on the path being measured: it stays cheap.
func (o *observer) Mark(e host.Event) {
	switch e.Name {
	case journal.PointGroupWritten:
		o.mutex.Lock()
		o.groups = append(o.groups, e.B)
		o.mutex.Unlock()
	case journal.PointRolled:
		o.rolled.Add(1)
	case journal.PointPrepared:
		o.prepared.Add(1)
	case bookie.PointSwapped:
		o.flushing.Store(true)
	case bookie.PointCheckpointed:
		o.flushing.Store(false)
		o.checkpoints.Add(1)
	case bookie.PointSlowed, bookie.PointCacheFull:
		o.slowed.Add(1)
	}
}

// takeGroups returns the groups written since the last call.
func (o *observer) takeGroups() []int64 {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	groups := o.groups
	o.groups = make([]int64, 0, cap(groups))
	return groups
}

// busy reports whether a journal file is being filled or a checkpoint is under way.
func (o *observer) busy() bool { return o.prepared.Load() <= o.rolled.Load() || o.flushing.Load() }

// awaitIdle waits for the end of work in the background, at most for limit.
func (o *observer) awaitIdle(limit time.Duration) {
	for deadline := time.Now().Add(limit); o.busy() && time.Now().Before(deadline); {
		time.Sleep(idlePoll)
	}
}

// background counts what happened besides the entries.
type background struct {
	Prepared    int64 // journal files
	Checkpoints int64
	Slowed      int64 // batches
}

func (o *observer) background() background {
	return background{Prepared: o.prepared.Load(), Checkpoints: o.checkpoints.Load(), Slowed: o.slowed.Load()}
}

func (b background) since(earlier background) background {
	return background{
		Prepared: b.Prepared - earlier.Prepared, Checkpoints: b.Checkpoints - earlier.Checkpoints,
		Slowed: b.Slowed - earlier.Slowed,
	}
}

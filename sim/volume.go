package sim

import (
	"strconv"
	"time"

	"lakebed/engine/host"
	"lakebed/sim/disk"
)

// DiskKind is a kind of operation on a volume.
type DiskKind uint8

// The kinds of operation that a fault hook can tell apart.
const (
	DiskRead DiskKind = iota
	DiskWrite
	DiskSync
	DiskSyncDir
	DiskCreate
	DiskOpen
	DiskRename
	DiskRemove
	DiskList
	DiskAllocate
	DiskTruncate
	diskKinds
)

var diskKindNames = [diskKinds]string{"read", "write", "sync", "syncdir", "create", "open", "rename", "remove", "list", "allocate", "truncate"}

func (k DiskKind) String() string { return diskKindNames[k] }

// DiskOp is an operation about to happen. It is valid during the call of the hook only.
type DiskOp struct {
	Node   string
	Volume string
	Path   string // within the volume
	Kind   DiskKind
	Offset int64 // of reads, writes, allocations; the new size of truncates
	Length int64
	Nth    int64 // counts from 1, per node, volume and kind, over all processes
}

// DiskEffect is what becomes of an operation. The zero value: nothing special.
type DiskEffect struct {
	Err       error         // the operation fails with this, after transferring Short bytes
	Short     int           // transfer at most so many bytes; zero: no limit
	Delay     time.Duration // on top of what the device takes
	Stuck     bool          // never answers, until Volume.Unstick or a crash
	MarkClean bool          // of a sync that fails: the dirty pages count as clean without having been written
	Lie       bool          // a sync of a file or directory reports success, and a power cut may take all it was to keep
	// Device decides where the pages of a sync land that reports success. Nil: where they belong.
	Device func(page int64) disk.Landing
}

// DiskProfile is how fast a volume is. Only reads that miss the page cache and syncs reach the device, and queue there.
type DiskProfile struct {
	Cache          time.Duration // mean of a call that the page cache answers
	MissPermille   int           // reads that go to the device
	Seek           time.Duration // mean of what a read takes there, without transfer
	Sync           time.Duration // mean of what a flush takes there, without transfer
	Names          time.Duration // mean of an operation on names
	BytesPerSecond int64
}

// SSD is the profile of volumes that were given none.
func SSD() DiskProfile {
	return DiskProfile{
		Cache: 3 * time.Microsecond, MissPermille: 100, Seek: 90 * time.Microsecond, Sync: 600 * time.Microsecond,
		Names: 30 * time.Microsecond, BytesPerSecond: 500 << 20,
	}
}

// defaultCapacity is the size of volumes that were given none. They are sparse: it costs nothing.
const defaultCapacity = 64 << 30

// Volume is one disk of a node. Its content survives the node's processes.
type Volume struct {
	node     *Node
	name     string
	disk     *disk.Disk
	size     int64
	profile  DiskProfile
	dice     dice
	busy     time.Duration // the device has work until then
	counts   [diskKinds]int64
	faults   func(*DiskOp) DiskEffect
	stuck    list
	unsticks int64  // how often they were let go
	op       DiskOp // lent to the hook, one operation at a time
}

// Disk returns the volume of this name. One that nobody added before gets the default size and profile.
func (n *Node) Disk(name string) *Volume {
	for _, v := range n.volumes {
		if v.name == name {
			return v
		}
	}
	v := &Volume{node: n, name: name, size: defaultCapacity, profile: SSD()}
	v.dice = newDice(n.world.config.Seed, "disk/"+n.name+"/"+name)
	v.disk = disk.New(disk.Config{Capacity: v.size})
	n.volumes = append(n.volumes, v)
	return v
}

// SetProfile changes how fast the volume is, from now on.
func (v *Volume) SetProfile(p DiskProfile) { v.profile = p }

// SetFaults has f decide what becomes of every operation. f runs inside the task that asked, before the operation.
func (v *Volume) SetFaults(f func(op *DiskOp) DiskEffect) { v.faults = f }

// Unstick lets the operations that are stuck go on.
func (v *Volume) Unstick() {
	v.unsticks++
	v.stuck.wakeAll(wokeDisk)
}

// Model is the content, for damaging and inspecting it.
func (v *Volume) Model() *disk.Disk { return v.disk }

// Replace puts an empty disk of this capacity in the place of the old one, under the same name. Zero: the old capacity.
// The node must not be running.
func (v *Volume) Replace(capacity int64) {
	v.node.mustBeDown("gets an empty disk")
	if capacity > 0 {
		v.size = capacity
	}
	v.disk = disk.New(disk.Config{Capacity: v.size})
}

// Format puts an empty disk with these properties in the place of the old one. The node must not be running.
func (v *Volume) Format(config disk.Config) {
	v.node.mustBeDown("gets another disk")
	v.size = config.Capacity
	v.disk = disk.New(config)
}

// cutPower applies the crash rule to all volumes. Each draws from a stream of its own and of this crash.
func (n *Node) cutPower(survival disk.Survival) {
	w := n.world
	n.powerCuts++
	for _, v := range n.volumes {
		rng := Stream(w.config.Seed, "crash/"+n.name+"/"+v.name+"/"+strconv.Itoa(n.powerCuts))
		report := v.disk.Crash(survival, rng)
		w.noteText(actNodeCrash, n, v.name, int64(report.PagesLost), int64(report.NamesLost))
		w.effectTimes(EffectTornPage, report.PagesTorn)
		w.effectTimes(EffectLostUnsynced, report.PagesLost+report.SizesLost)
		w.effectTimes(EffectLostName, report.NamesLost)
	}
}

// perform takes the time an operation takes, and lets the plan interfere. After it the operation happens at once.
func (v *Volume) perform(p *process, path *volumePath, kind DiskKind, off, length int64, sum uint32) DiskEffect {
	t := p.running()
	w := p.world
	v.counts[kind]++
	w.noteText(actDisk, p.node, path.text, int64(kind)<<56|off, length<<32|int64(sum))
	effect := v.ask(p, path, kind, off, length)
	done := v.finishTime(w.now, kind, length)
	if effect.Delay > 0 {
		w.effect(EffectSlowDisk)
		done += effect.Delay
	}
	unsticks := v.unsticks
	t.parkUntil(done, diskKindNames[kind], path.text)
	if effect.Stuck && v.unsticks == unsticks { // else the disk was unstuck while the operation was on its way
		w.effect(EffectStuckDisk)
		v.stuck.push(&t.place)
		t.park(taskParked, "stuck disk", path.text)
	}
	return effect
}

func (v *Volume) ask(p *process, path *volumePath, kind DiskKind, off, length int64) DiskEffect {
	if v.faults == nil {
		return DiskEffect{}
	}
	v.op = DiskOp{Node: v.node.name, Volume: v.name, Path: path.inner, Kind: kind, Offset: off, Length: length, Nth: v.counts[kind]}
	p.world.hooks++
	effect := v.faults(&v.op)
	p.afterHook()
	return effect
}

// finishTime is when an operation that starts now is over. length is what goes over the wire to the device.
func (v *Volume) finishTime(now time.Duration, kind DiskKind, length int64) time.Duration {
	var service time.Duration
	switch kind {
	case DiskRead:
		if missed := v.dice.permille(v.profile.MissPermille); !missed && !v.node.pressed() {
			return now + v.dice.exponential(v.profile.Cache)
		}
		service = v.dice.exponential(v.profile.Seek)
	case DiskSync:
		service = v.profile.Sync/2 + v.dice.exponential(v.profile.Sync/2)
	case DiskSyncDir:
		service, length = v.profile.Sync/2+v.dice.exponential(v.profile.Sync/2), 0
	case DiskWrite:
		return now + v.dice.exponential(v.profile.Cache)
	default:
		return now + v.dice.exponential(v.profile.Names)
	}
	v.busy = max(v.busy, now) + service + transferTime(length, v.profile.BytesPerSecond)
	return v.busy
}

// transferTime is how long so many bytes take, without overflow for any realistic volume. Zero speed: no time.
func transferTime(bytes, bytesPerSecond int64) time.Duration {
	if bytesPerSecond <= 0 {
		return 0
	}
	whole, rest := bytes/bytesPerSecond, bytes%bytesPerSecond
	return time.Duration(whole)*time.Second + time.Duration(rest*1000/bytesPerSecond)*time.Millisecond +
		time.Duration(rest*1000%bytesPerSecond*1_000_000/bytesPerSecond)*time.Nanosecond
}

func (p *process) Disk(volume string) (host.Dir, error) {
	p.enter()
	v := p.node.Disk(volume)
	return &dir{process: p, volume: v, inner: v.disk.Root(), path: volumePath{text: volume}}, nil
}

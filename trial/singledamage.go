package trial

import (
	"path"
	"slices"
	"strings"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/series"
	"lakebed/faults"
	"lakebed/model"
	"lakebed/sim/disk"
)

// The two stores of one node have one copy of everything: what is destroyed is lost, and must be told. Some places cannot be
// told from a torn end, as the packages say, and are spared; in others a wrong byte hides a message and can serve no other.

// mayLose spares what a segment log cannot tell from a torn end: all logs that are not sealed, and the index files of a log
// that is damaged, or the log of index files that are; then the newest log would be taken for one that was not sealed.
func (t *segmentsRun) mayLose(place faults.Wound) bool {
	dir, name := path.Split(place.Path)
	base, suffix, _ := strings.Cut(name, ".")
	if suffix != "log" && suffix != "index" && suffix != "timeindex" {
		return false
	}
	for _, w := range t.driver.Damage() {
		if w.Volume == place.Volume && w.Path != place.Path && strings.HasPrefix(w.Path, dir+base+".") {
			return false
		}
	}
	sealed := func(info disk.PathInfo) bool { return info.Path == dir+base+".index" }
	return slices.ContainsFunc(t.node.Disk(place.Volume).Model().Paths(), sealed)
}

// mayLose spares what a commit log cannot tell from a torn end: the log behind the last checkpoint; and all files that are
// replaced as a whole, which would end most trials at their next start.
func (t *messageRun) mayLose(place faults.Wound) bool {
	dir, name := path.Split(place.Path)
	if base, ok := series.ParseFileName(name); ok && dir == "commitlog/" {
		return base+place.Offset+place.Length <= t.synced
	}
	return strings.HasPrefix(dir, "consumequeue/")
}

// hiding are the checkers whose rules a unit breaks that has gone bad: it has no checksum, as in the format it follows. What
// it points at is compared with what it should be, so that no wrong message is answered; but by its hash of a tag a pull may pass
// over it, and by its place in the log it may seem to be removed.
var hiding = []string{model.CheckerLeftOut, model.CheckerTrimmed, model.CheckerTime, model.CheckerVisible}

// unexcused are the violations for which damage of units is no reason.
func (t *messageRun) unexcused(all []model.Violation) []model.Violation {
	unit := slices.ContainsFunc(t.driver.Damage(), func(w faults.Wound) bool {
		return w.Volume == commitlog.StoreVolume && strings.HasPrefix(w.Path, "consumequeue/")
	})
	if !unit {
		return all
	}
	return slices.DeleteFunc(all, func(v model.Violation) bool { return slices.Contains(hiding, v.Checker) })
}

package node

import (
	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

// watchDisks is the task that moves the bookie between the modes.
func (n *node) watchDisks(mode metadata.Mode) {
	for n.g.Sleep(n.config.DiskCheckInterval) {
		usage := n.usage()
		next := n.config.modeAt(usage, mode)
		if next == mode {
			continue
		}
		mode = next
		point := PointDiskRoom
		if mode == metadata.ReadOnly {
			point = PointDiskFull
		}
		percent := int64(usage * 100)
		n.h.Probe().Mark(host.Event{Name: point, A: percent, Extra: string(n.id)})
		n.h.Log(host.Warn, "bookie changes its mode", host.F("bookie", n.id), host.F("mode", mode), host.F("percent used", percent))
		n.server.SetReadOnly(mode == metadata.ReadOnly)
		n.registration.SetMode(mode)
	}
}

// mode is the mode that the disks ask for now.
func (n *node) mode(now metadata.Mode) metadata.Mode { return n.config.modeAt(n.usage(), now) }

// usage is the share of the fullest volume that is in use: one full disk is enough, as with upstream's
// readOnlyModeOnAnyDiskFullEnabled. A volume that does not say counts as empty: if it is broken the storage finds out.
func (n *node) usage() float64 {
	most := 0.0
	for _, volume := range []string{bookie.JournalVolume, bookie.LedgerVolume} {
		dir, err := n.h.Disk(volume)
		if err != nil {
			continue
		}
		if free, total, err := dir.Usage(); err == nil && total > 0 {
			most = max(most, 1-float64(free)/float64(total))
		}
	}
	return most
}

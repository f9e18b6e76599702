package trial

import (
	"slices"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/faults"
	"lakebed/model"
	"lakebed/sim/disk"
)

// MarkLossUnnoticed is hit when a checker found that something acknowledged is gone without anybody saying so, in a
// scenario that destroys more than the promises survive.
const MarkLossUnnoticed = "trial.loss-unnoticed"

// lossCheckers are those whose findings can mean that something acknowledged is gone: denied, forgotten, or open again.
// The others say that an answer is wrong (a value that nobody stored, another value, an answer of a wrong shape), and no
// damage excuses that.
var lossCheckers = []string{
	model.CheckerBookie, model.CheckerVanished, model.CheckerLastEntry, model.CheckerNegative, model.CheckerFence,
	model.CheckerList, model.CheckerDeleted, model.CheckerDurability, model.CheckerAcked, model.CheckerQuorum, model.CheckerLog,
}

// closedShort is what the checkers say of entries that were read, or known as confirmed, before a recovery that found no
// copy left them out.
var closedShort = []string{
	model.CheckerBeyond + ": entry beyond the end", model.CheckerConfirmed + ": confirmed entry beyond the end",
	model.CheckerConfirmed + ": reader's bound beyond the end",
}

// excuses says whether a violation is a loss for which the plan is the reason. It is told then, and is no failure.
func (s *Scenario) excuses(v *model.Violation, wounds int) bool {
	return s.Lifted && wounds > 0 && (slices.Contains(lossCheckers, v.Checker) || slices.Contains(closedShort, v.Signature))
}

// aimAtMedia gives an element that damages media the files to strike. Left alone it strikes all files alike, and most
// trials would end at a cookie or a mark that is bad.
//
// Pages that a device loses are never the journal's, unless the scenario is lifted: if nothing of the last group arrives,
// there are zeros where it would begin, as if nobody had ever begun it. No reader of these bytes can tell the two apart,
// and a bookie that does not know denies (seed 2078 of damage, while it struck the journal).
func (s *Scenario) aimAtMedia(e *faults.Element, path func(volume string) string) {
	t := &e.Target
	if e.Kind == faults.LyingSync {
		return // the device is all of one mind
	}
	if (e.Kind == faults.LostWrite || e.Kind == faults.MisdirectedWrite) && !s.Lifted {
		t.Volume = bookie.LedgerVolume
	}
	t.Path = path(t.Volume)
}

// cookieOf reads the cookie of a volume as it stands. Nil: there is none.
func cookieOf(d *disk.Disk) []byte {
	f, err := d.Root().Open(bookie.CookieFile)
	if err != nil {
		return nil
	}
	size, err := f.Size()
	if err != nil {
		return nil
	}
	text := make([]byte, size)
	if n, err := f.ReadAt(text, 0); err != nil || n < len(text) {
		return nil
	}
	return text
}

// forgeCookie puts a cookie on an empty volume, as somebody does who copies it back to make a refused bookie start.
func forgeCookie(d *disk.Disk, text []byte) error {
	if text == nil {
		return nil
	}
	root := d.Root()
	f, err := root.Create(bookie.CookieFile)
	if err != nil {
		return err
	}
	if _, err := f.WriteBuffersAt([][]byte{text}, 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := root.SyncDir(); err != nil {
		return err
	}
	return f.Close()
}

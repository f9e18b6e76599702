package reports

import (
	"fmt"
	"strings"
	"time"
)

// headline is the one sentence that a reader in a hurry takes away.
func (r *Result) headline() string {
	switch {
	case r.Verdict != nil:
		return string(r.Verdict.Word) + ": " + r.Verdict.Reason
	case len(r.Goals) > 0:
		return fmt.Sprintf("%d of %d goals met", r.GoalsMet(), len(r.Goals))
	default:
		return fmt.Sprintf("%d figures measured, no goal set", r.figures())
	}
}

func (r *Result) figures() (n int) {
	for _, g := range r.Groups {
		for _, c := range g.Cells {
			n += len(c.Figures)
		}
	}
	return n
}

// heading names a result: experiments are known by their number.
func (r *Result) heading() string {
	if r.Kind == KindExperiment {
		return r.ID + " · " + r.Title
	}
	return r.Title
}

// warnings say why the figures may not mean what they seem to.
func (r *Result) warnings() (said []string) {
	if r.Disk != nil && r.Disk.InMemory {
		said = append(said, fmt.Sprintf("%s is %s, which is memory: no figure about syncing means anything", r.Disk.Dir, r.Disk.FileSystem))
	}
	if r.Machine.OthersShare > noisyShare {
		said = append(said, fmt.Sprintf("others used %.0f %% of this machine's processors meanwhile: the figures show the machine as much as "+
			"the engine. Measure again when it is quiet", 100*r.Machine.OthersShare))
	}
	if !r.Build.Known() {
		said = append(said, "no commit is known of the program that measured (built outside of a clone, or with -buildvcs=false): nobody can "+
			"tell which sources the figures are of")
	}
	if drift := r.driftWarning(); drift != "" {
		said = append(said, drift)
	}
	if r.Build.Modified {
		said = append(said, "the sources had changes that are not in the commit: nobody else can build what was measured")
	}
	return said
}

// fact is one line about where figures come from.
type fact struct{ name, value string }

// facts are what is needed to trust a result and to repeat it. The command stands elsewhere.
func (r *Result) facts() []fact {
	facts := []fact{
		{"started", fmt.Sprintf("%s, took %s", r.Started.UTC().Format("2006-01-02 15:04 UTC"), lengthText(r.Seconds))},
		{"build", r.Build.text()},
		{"machine", r.Machine.text()},
	}
	if r.Disk != nil {
		facts = append(facts, fact{"disk", r.Disk.text()})
		if r.Disk.Sync != "" {
			facts = append(facts, fact{"synced", r.Disk.Sync})
		}
		if r.Disk.Warm != "" {
			facts = append(facts, fact{"warm", r.Disk.Warm})
		}
	}
	if len(r.Settings) > 0 {
		facts = append(facts, fact{"settings", settingsText(r.Settings)})
	}
	return facts
}

func (b Build) text() string {
	commit := b.Commit
	if len(commit) > 12 && strings.Trim(commit, "0123456789abcdef") == "" {
		commit = commit[:12]
	}
	if commit == unknown {
		commit = "an unknown commit"
	}
	if b.Modified {
		commit += " with changes"
	}
	return strings.TrimSpace(fmt.Sprintf("%s, %s %s/%s", commit, b.Go, b.OS, b.Arch))
}

func (m Machine) text() string {
	text := fmt.Sprintf("%d × %s", m.CPUs, m.Model)
	if m.MemoryBytes > 0 {
		text += ", " + bytesText(float64(m.MemoryBytes)) + " of memory"
	}
	if m.Kernel != "" {
		text += ", Linux " + m.Kernel
	}
	if m.OthersShare >= 0 {
		text += fmt.Sprintf(", others used %.0f %%", 100*m.OthersShare)
	}
	return text
}

func (d Disk) text() string {
	return fmt.Sprintf("%s, %s on %s, %s free", d.Dir, d.FileSystem, d.Device, bytesText(float64(d.FreeBytes)))
}

// lengthText writes how long something took. Anything past a day is seconds again: nobody measures that long.
func lengthText(seconds float64) string {
	if seconds < 1 || seconds > 86400 {
		return numberText(seconds) + " s"
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

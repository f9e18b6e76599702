package reports

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
)

// significant is the probability, corrected for the number of comparisons, below which a difference is called one.
const significant = 0.05

// ChangeWord is what a comparison of two figures came to.
type ChangeWord string

// The outcomes. Times and rates get faster or slower, other figures with a direction better or worse, the rest higher or
// lower.
const (
	Faster       ChangeWord = "faster"
	Slower       ChangeWord = "slower"
	Improved     ChangeWord = "better"
	Worsened     ChangeWord = "worse"
	Higher       ChangeWord = "higher"
	Lower        ChangeWord = "lower"
	NoDifference ChangeWord = "no difference seen"
	TooFew       ChangeWord = "too few samples to say"
	NotTested    ChangeWord = "not tested"
)

// Shown says whether a difference has been shown.
func (w ChangeWord) Shown() bool { return w != NoDifference && w != TooFew && w != NotTested }

// Change is what happened to one figure of one cell between two results.
type Change struct {
	Group   string     `json:"group"`
	Cell    string     `json:"cell"`
	Before  Figure     `json:"before"`
	After   Figure     `json:"after"`
	Percent float64    `json:"percent"` // of the median; 0 with Defined false
	Low     float64    `json:"low"`     // 95 % bootstrap interval of Percent
	High    float64    `json:"high"`    //
	Defined bool       `json:"defined"` // false: the value before was zero
	Primary bool       `json:"primary"` // the figure of its cell that is tested
	P       float64    `json:"p"`       // of the Mann-Whitney test
	HolmP   float64    `json:"holm_p"`  // of Welch's test, corrected for all figures that could be tested; 1: not tested
	Word    ChangeWord `json:"word"`

	least float64 // the smallest P that so many samples can give
	welch float64
}

// Compare compares every figure that two results have in common: same cell, name, unit and clock. One figure of each cell is
// tested: see primary. The others follow from it, or describe it, and testing them as well would only make it harder for each
// to show anything. Read Differences too: a change may be one of the machine. The order is that of after.
func Compare(before, after *Result) []Change {
	var changes []Change
	for _, g := range after.Groups {
		for i := range g.Cells {
			cell := &g.Cells[i]
			old, ok := before.Cell(cell.Name)
			if !ok {
				continue
			}
			for _, now := range cell.Figures {
				was, ok := old.Figure(now.Name)
				if !ok || was.Unit != now.Unit || was.Clock != now.Clock {
					continue
				}
				change := compareFigures(g.Name, cell.Name, was, now)
				change.Primary = now.Name == primary(cell)
				changes = append(changes, change)
			}
		}
	}
	judgeChanges(changes)
	return changes
}

// primary names the figure by which a cell is compared: the first that has rounds and a direction, else the first that has
// rounds, else the first. Cells begin with what they are for: a closed loop with its rate, an open loop, whose rate is
// given, with its median latency.
func primary(c *Cell) string {
	for _, wanted := range []func(Figure) bool{
		func(f Figure) bool { return len(f.Samples) > 1 && f.Better != NeitherBetter },
		func(f Figure) bool { return len(f.Samples) > 1 },
		func(Figure) bool { return true },
	} {
		for _, f := range c.Figures {
			if wanted(f) {
				return f.Name
			}
		}
	}
	return ""
}

// test asks whether the rounds differ, without judging: that needs to know of all others.
func (c *Change) test() {
	old, now := samplesOf(c.Before), samplesOf(c.After)
	ranks := MannWhitney(now, old)
	c.P, c.HolmP, c.least, c.welch = ranks.P, 1, ranks.PLeast, welchP(now, old)
}

// compareFigures compares without judging.
func compareFigures(group, cell string, before, after Figure) Change {
	c := Change{Group: group, Cell: cell, Before: before, After: after}
	c.test()
	old, now := samplesOf(before), samplesOf(after)
	if ratio, ok := RatioInterval(now, old, seedOf(cell, after.Name)); ok {
		c.Defined = true
		c.Percent, c.Low, c.High = 100*(ratio.Value-1), 100*(ratio.Low-1), 100*(ratio.High-1)
	}
	return c
}

func samplesOf(f Figure) []float64 {
	if len(f.Samples) == 0 {
		return []float64{f.Value}
	}
	return f.Samples
}

// seedOf gives every figure draws of its own that do not depend on which others are compared.
func seedOf(cell, figure string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(cell + "\x00" + figure)) // a hash does not fail
	return h.Sum64()
}

// judgeChanges corrects the probabilities for their number and puts words to them. A difference counts if the ranks show it
// for itself, and Welch's test among all that are tested. Ranks alone never could: the clearest outcome of six rounds against
// six has a probability of 0.002, which is nothing among a hundred. Where the samples are so few that even the clearest
// outcome would not have counted, "no difference seen" would claim more than was looked at. Such figures do not make it
// harder for the others either: that they cannot speak was known before anybody looked.
func judgeChanges(changes []Change) {
	var p []float64
	var tested []*Change
	for i := range changes {
		c := &changes[i]
		switch {
		case !c.Primary:
			c.Word = NotTested
		case c.least > significant:
			c.Word = TooFew
		default:
			p, tested = append(p, c.welch), append(tested, c)
		}
	}
	for i, corrected := range Holm(p) {
		c := tested[i]
		c.HolmP = corrected
		switch {
		case corrected <= significant && c.P <= significant:
			c.Word = c.direction()
		case c.P <= significant && c.least*float64(len(tested)) > significant:
			c.Word = TooFew // alone it would have counted
		default:
			c.Word = NoDifference
		}
	}
}

func (c *Change) direction() ChangeWord {
	now, old := samplesOf(c.After), samplesOf(c.Before)
	rose := Median(now) > Median(old)
	if Median(now) == Median(old) { // the test saw what the medians hide
		rose = MannWhitney(now, old).ShiftOfA > 0
	}
	good := rose
	if c.After.Better == LowerBetter {
		good = !rose
	}
	words := map[bool]ChangeWord{true: Improved, false: Worsened}
	switch {
	case c.After.Better == NeitherBetter:
		words = map[bool]ChangeWord{true: Higher, false: Lower}
	case c.After.Clock != ClockNone && c.After.Unit != "1" && c.After.Unit != "B":
		words = map[bool]ChangeWord{true: Faster, false: Slower}
	}
	return words[good]
}

// Differences says, in sentences, what else than the engine differs between two results, or keeps figures from being
// compared. Nothing: they were measured alike.
func Differences(before, after *Result) []string {
	var said []string
	differs := func(what, old, now string) {
		if old != now {
			said = append(said, fmt.Sprintf("%s: %s before, %s now", what, orNone(old), orNone(now)))
		}
	}
	differs("what was run", string(before.Kind)+" "+before.ID, string(after.Kind)+" "+after.ID)
	differs("processors", fmt.Sprintf("%d × %s", before.Machine.CPUs, before.Machine.Model), fmt.Sprintf("%d × %s", after.Machine.CPUs, after.Machine.Model))
	differs("kernel", before.Machine.Kernel, after.Machine.Kernel)
	if spread := float64(before.Machine.MemoryBytes - after.Machine.MemoryBytes); math.Abs(spread) > 0.02*float64(after.Machine.MemoryBytes) {
		differs("memory", bytesText(float64(before.Machine.MemoryBytes)), bytesText(float64(after.Machine.MemoryBytes)))
	}
	differs("Go", before.Build.Go+" "+before.Build.OS+"/"+before.Build.Arch, after.Build.Go+" "+after.Build.OS+"/"+after.Build.Arch)
	old, now := diskOr(before.Disk), diskOr(after.Disk)
	differs("disk", old.FileSystem+" on "+old.Device, now.FileSystem+" on "+now.Device)
	differs("synced", old.Sync, now.Sync)
	differs("warm", old.Warm, now.Warm)
	said = append(said, settingDifferences(before.Settings, after.Settings)...)
	for _, r := range []struct {
		when   string
		result *Result
	}{{"before", before}, {"now", after}} {
		if r.result.Machine.OthersShare > noisyShare {
			said = append(said, fmt.Sprintf("others used %.0f %% of the machine in the run %s", 100*r.result.Machine.OthersShare, r.when))
		}
	}
	return append(said, unmatched(before, after)...)
}

// noisyShare is the part of the processors from which on the work of others spoils figures.
const noisyShare = 0.15

func diskOr(d *Disk) Disk {
	if d == nil {
		return Disk{FileSystem: "no disk", Device: "no device"}
	}
	return *d
}

func orNone(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

func settingDifferences(before, after []Setting) (said []string) {
	old, now := map[string]string{}, map[string]string{}
	for _, s := range before {
		old[s.Name] = s.Value
	}
	for _, s := range after {
		now[s.Name] = s.Value
		if was, ok := old[s.Name]; !ok || was != s.Value {
			said = append(said, fmt.Sprintf("setting %s: %s before, %s now", s.Name, orNone(was), orNone(s.Value)))
		}
	}
	for _, s := range before {
		if _, ok := now[s.Name]; !ok {
			said = append(said, fmt.Sprintf("setting %s: %s before, nothing now", s.Name, orNone(s.Value)))
		}
	}
	return said
}

// unmatched counts what only one of the results has.
func unmatched(before, after *Result) (said []string) {
	count := func(of, in *Result) (missing, other int, example string) {
		for _, g := range of.Groups {
			for i := range g.Cells {
				for _, f := range g.Cells[i].Figures {
					name := g.Cells[i].Name + " " + f.Name
					cell, ok := in.Cell(g.Cells[i].Name)
					if !ok {
						missing, example = missing+1, cmp.Or(example, name)
						continue
					}
					match, ok := cell.Figure(f.Name)
					switch {
					case !ok:
						missing, example = missing+1, cmp.Or(example, name)
					case match.Unit != f.Unit || match.Clock != f.Clock:
						other++
					}
				}
			}
		}
		return missing, other, example
	}
	if n, _, example := count(before, after); n > 0 {
		said = append(said, fmt.Sprintf("figures only before, not compared: %d, such as %s", n, example))
	}
	n, other, example := count(after, before)
	if n > 0 {
		said = append(said, fmt.Sprintf("figures only now, not compared: %d, such as %s", n, example))
	}
	if other > 0 {
		said = append(said, fmt.Sprintf("figures with another unit or clock than before, not compared: %d", other))
	}
	return said
}

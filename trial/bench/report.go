package bench

import (
	"time"
)

// Report is everything a run measured.
type Report struct {
	Started  time.Time      `json:"started"`
	Seconds  float64        `json:"seconds"` // the run took
	Clock    string         `json:"clock"`
	Sync     string         `json:"sync"`
	Thorough bool           `json:"thorough"`
	Seed     uint64         `json:"seed"`
	Place    Place          `json:"place"`
	Goals    []GoalResult   `json:"goals,omitempty"`
	Appends  []AppendResult `json:"appends,omitempty"`
	Fio      *FioResult     `json:"fio,omitempty"`
	Reads    []ReadResult   `json:"reads,omitempty"`
	Others   float64        `json:"others_cpu_share"`  // of all processors, over the whole run
	Skipped  []string       `json:"skipped,omitempty"` // arms for which the time did not suffice
}

// What holds for every figure of a report.
const (
	clockText = "wall clock of this machine"
	syncText  = "journal sync mode group: every entry is acknowledged after the fdatasync of its group; " +
		"reads need no sync"
)

// GoalResult says whether an arm reached its goal.
type GoalResult struct {
	Arm   string   `json:"arm"`
	Goal  Goal     `json:"goal"`
	Ratio Interval `json:"ratio"`
	Met   bool     `json:"met"`
}

// AppendResult is what one arm of appends did. Rates are medians over its rounds.
type AppendResult struct {
	Name string `json:"name"`
	Arm
	Pairs                 int         `json:"pairs"`
	RoundSeconds          float64     `json:"round_seconds"` // mean; longer than asked for where background work ran
	EntriesPerSecond      float64     `json:"entries_per_second"`
	PayloadBytesPerSecond float64     `json:"payload_bytes_per_second"`
	GroupBytesPerSecond   float64     `json:"group_bytes_per_second"` // with framing and padding, as the raw line counts
	SyncsPerSecond        float64     `json:"syncs_per_second"`
	GroupBytesMean        float64     `json:"group_bytes_mean"`
	RawBytesPerSecond     float64     `json:"raw_bytes_per_second"`
	RawEntriesPerSecond   float64     `json:"raw_entries_per_second"` // raw bytes, in entries with their share of framing
	Ratio                 Interval    `json:"ratio"`
	RatioOfTotals         float64     `json:"ratio_of_totals"`
	Latency               Percentiles `json:"latency"`
	CPUMicrosPerEntry     float64     `json:"cpu_micros_per_entry"` // user and system, background tasks included
	RawCPUMicrosPerEntry  float64     `json:"raw_cpu_micros_per_entry"`
	OthersCPUShare        float64     `json:"others_cpu_share"` // of all processors while the arm was measured
	Background            background  `json:"background"`
}

// appendResult puts an arm's pairs together.
func appendResult(arm Arm, pairs []pair, lat latencies, work background, seed uint64) AppendResult {
	r := AppendResult{Name: arm.Name(), Arm: arm, Pairs: len(pairs), Background: work, Latency: lat.percentiles()}
	var entryRates, groupRates, rawRates, syncRates, ratios []float64
	var sum totals
	for _, p := range pairs {
		entryRates = append(entryRates, perSecond(p.arm.entries, p.arm.elapsed))
		groupRates = append(groupRates, perSecond(p.arm.groupBytes(), p.arm.elapsed))
		syncRates = append(syncRates, perSecond(int64(len(p.arm.groups)), p.arm.elapsed))
		rawRates = append(rawRates, perSecond(p.raw.bytes, p.raw.elapsed))
		ratios = append(ratios, p.ratio())
		sum.add(p)
	}
	bytesPerEntry := sum.groupBytes / sum.entries
	r.RoundSeconds = sum.armSeconds / float64(len(pairs))
	r.EntriesPerSecond, r.SyncsPerSecond = median(entryRates), median(syncRates)
	r.PayloadBytesPerSecond = r.EntriesPerSecond * float64(arm.PayloadBytes)
	r.GroupBytesPerSecond, r.RawBytesPerSecond = median(groupRates), median(rawRates)
	r.RawEntriesPerSecond = r.RawBytesPerSecond / bytesPerEntry
	r.GroupBytesMean = sum.groupBytes / sum.groups
	r.Ratio = medianInterval(ratios, seed)
	r.RatioOfTotals = (sum.groupBytes / sum.armSeconds) / (sum.rawBytes / sum.rawSeconds)
	r.CPUMicrosPerEntry = sum.armCPUSeconds * 1e6 / sum.entries
	r.RawCPUMicrosPerEntry = sum.rawCPUSeconds * 1e6 / (sum.rawBytes / bytesPerEntry)
	return r
}

// totals adds pairs up.
type totals struct {
	entries, groups, groupBytes, rawBytes                float64
	armSeconds, rawSeconds, armCPUSeconds, rawCPUSeconds float64
}

func (t *totals) add(p pair) {
	t.entries += float64(p.arm.entries)
	t.groups += float64(len(p.arm.groups))
	t.groupBytes += float64(p.arm.groupBytes())
	t.rawBytes += float64(p.raw.bytes)
	t.armSeconds += p.arm.elapsed.Seconds()
	t.rawSeconds += p.raw.elapsed.Seconds()
	t.armCPUSeconds += p.arm.usage.cpu.Seconds()
	t.rawCPUSeconds += p.raw.cpu.Seconds()
}

// judge compares the arms that have a goal with it.
func (r *Report) judge() {
	r.Goals = nil
	for _, a := range r.Appends {
		if goal, ok := a.Arm.Goal(); ok {
			r.Goals = append(r.Goals, GoalResult{Arm: a.Name, Goal: goal, Ratio: a.Ratio, Met: goal.Met(a.Ratio)})
		}
	}
}

// GoalsMet counts the goals that were reached.
func (r *Report) GoalsMet() (met int) {
	for _, g := range r.Goals {
		if g.Met {
			met++
		}
	}
	return met
}

package reports

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// sampleBench is a result with everything in it: goals met and missed, three tables, lines, logarithmic axes and bars. Each
// call returns a copy; making one takes a second of resampling.
func sampleBench() (r Result) {
	if err := json.Unmarshal(sampleBenchText(), &r); err != nil {
		panic(err)
	}
	return r
}

var sampleBenchText = sync.OnceValue(func() []byte {
	text, err := json.Marshal(madeBench())
	if err != nil {
		panic(err)
	}
	return text
})

func madeBench() Result {
	random := rand.New(rand.NewPCG(7, 7))
	around := func(center float64) (samples []float64) {
		for range 12 {
			samples = append(samples, center*(0.94+0.12*random.Float64()))
		}
		return samples
	}
	r := Result{
		Schema: Schema, Kind: KindBench, ID: "bench", Title: "Ledgers over loopback TCP", Command: "simrun bench ledgers --dir /data",
		Started: time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC), Seconds: 171.4,
		Build:   Build{Commit: "0123456789abcdef0123456789abcdef01234567", Go: "go1.26.8", OS: "linux", Arch: "amd64"},
		Machine: Machine{CPUs: 2, Model: "AMD EPYC 7B13", MemoryBytes: 24 << 30, Kernel: "6.18.0", OthersShare: 0.03},
		Disk: &Disk{
			Dir: "/data", FileSystem: "ext4", Device: "/dev/vda", FreeBytes: 80 << 30,
			Sync: "every entry is acknowledged after the fdatasync of its group", Warm: "reads: written just before, all in the page cache",
		},
		Settings: []Setting{{"journalMaxGroupWaitMSec", "0"}, {"writeCacheMaxSizeMb", "64"}},
		Notes:    []string{"Rounds of 100 ms: quote figures of --thorough only."},
	}
	r.Groups = []Group{sampleWrites(around), sampleReads(around)}
	r.Goals = []Goal{
		{
			Name: "batch reads of 100 B from cache, 100 a batch, by single reads with ten outstanding", Cell: "read/batch/100", Figure: "by single",
			Wanted: "at least 8", Met: true,
		},
		{
			Name: "CPU per acknowledged add, 3/3/2, 100 B, synced, 1,000 in flight", Cell: "write/3-3-2/100B/1000", Figure: "CPU per add",
			Wanted: "at most 4 µs", Why: "a third of it is spent in the network stack",
		},
	}
	for i := range r.Goals {
		f := r.figureOf(r.Goals[i])
		r.Goals[i].Value, r.Goals[i].Low, r.Goals[i].High = f.Value, f.Low, f.High
	}
	r.Plots = samplePlots(&r)
	return r
}

func sampleWrites(around func(float64) []float64) Group {
	g := Group{Name: "Writes, closed loop", Note: "Latency is per entry, from append to acknowledgement."}
	for _, quorum := range []string{"1/1/1", "3/3/2", "5/3/2"} {
		for i, inFlight := range []int{1, 10, 100, 1000} {
			rate := []float64{3100, 24000, 132000, 287000}[i] / float64(quorum[0]-'0') * 1.4
			name := fmt.Sprintf("write/%c-%c-%c/100B/%d", quorum[0], quorum[2], quorum[4], inFlight)
			g.Cells = append(g.Cells, Cell{
				Name: name, Labels: []Setting{{"E/Qw/Qa", quorum}, {"payload", "100 B"}, {"in flight", fmt.Sprint(inFlight)}},
				Figures: []Figure{
					NewFigure("appends", "1/s", ClockWall, HigherBetter, around(rate), 1),
					NewFigure("payload", "B/s", ClockWall, HigherBetter, around(rate*100), 2),
					NewFigure("p99", "s", ClockWall, LowerBetter, around(float64(inFlight)/rate*2.5), 3),
					NewFigure("CPU per add", "s", ClockCPU, LowerBetter, around(4.4e-6*(1+9/float64(inFlight))), 4),
					SingleFigure("ensemble changes", "1", ClockNone, NeitherBetter, 0),
				},
			})
		}
	}
	return g
}

func sampleReads(around func(float64) []float64) Group {
	g := Group{Name: "Reads from the cache"}
	for i, c := range []struct{ way, outstanding string }{{"single", "10"}, {"single", "100"}, {"batch/100", "1"}} {
		rate := []float64{88000, 310000, 820000}[i]
		name := "read/" + c.way
		if i == 1 {
			name += "/100"
		}
		g.Cells = append(g.Cells, Cell{
			Name: name, Labels: []Setting{{"way", c.way}, {"outstanding", c.outstanding}, {"payload", "100 B"}},
			Figures: []Figure{
				NewFigure("entries", "1/s", ClockWall, HigherBetter, around(rate), 5),
				NewFigure("by single", "1", ClockWall, HigherBetter, around(rate/88000), 6),
			},
		})
	}
	return g
}

// samplePlots draws the figures of sampleBench.
func samplePlots(r *Result) []Plot {
	rates := Plot{
		Name: "appends", Title: "Appends per second by entries in flight", Legend: "E/Qw/Qa",
		X: Axis{Label: "entries in flight", Unit: "1", Log: true}, Y: Axis{Label: "acknowledged appends", Unit: "1/s", Log: true},
	}
	latency := Plot{
		Name: "latency", Title: "99th percentile of the latency", Legend: "E/Qw/Qa",
		X: Axis{Label: "entries in flight", Unit: "1"}, Y: Axis{Label: "p99", Unit: "s"},
	}
	reads := Plot{
		Name: "reads", Title: "Entries read from the cache per second", Bars: true, Ideal: 900000,
		X: Axis{Label: "way of reading", Names: []string{"single, 10 outstanding", "single, 100 outstanding", "batches of 100"}},
		Y: Axis{Label: "entries", Unit: "1/s"},
	}
	for i, c := range r.Groups[0].Cells {
		if i%4 == 0 {
			rates.Lines = append(rates.Lines, Line{Name: c.Labels[0].Value})
			latency.Lines = append(latency.Lines, Line{Name: c.Labels[0].Value})
		}
		x := []float64{1, 10, 100, 1000}[i%4]
		for at, plot := range map[string]*Plot{"appends": &rates, "p99": &latency} {
			f, _ := c.Figure(at)
			line := &plot.Lines[len(plot.Lines)-1]
			line.Points = append(line.Points, Point{X: x, Y: f.Value, Low: f.Low, High: f.High})
		}
	}
	cached, cold := Line{Name: "from the write cache"}, Line{Name: "cold"}
	for i, c := range r.Groups[1].Cells {
		f, _ := c.Figure("entries")
		cached.Points = append(cached.Points, Point{X: float64(i), Y: f.Value, Low: f.Low, High: f.High})
		cold.Points = append(cold.Points, Point{X: float64(i), Y: f.Value / 3, Low: f.Low / 3, High: f.High / 3})
	}
	reads.Lines = []Line{cached, cold}
	return []Plot{rates, latency, reads}
}

// sampleExperiment is the result of an experiment, with little in it.
func sampleExperiment() Result {
	r := sampleBench()
	r.Kind, r.ID, r.Title = KindExperiment, "X-45", "A quorum that does not wait for all hides a slow replica"
	r.Command, r.Goals, r.Notes = "simrun experiment run X-45", nil, nil
	r.Verdict = &Verdict{Word: Confirmed, Reason: "with one bookie ten times slower, p99 rises 1.1 times at 3/3/2 and 9.6 times at 3/3/3"}
	r.Groups, r.Plots = r.Groups[:1], r.Plots[1:2]
	r.Groups[0].Cells = r.Groups[0].Cells[4:8]
	return r
}

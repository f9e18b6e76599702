package defects

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// Defaults of the detection.
const (
	CampaignsDefault  = 5
	CPUSecondsDefault = 120.0
)

const (
	seedStride      = 1_000_000 // between the first seeds of two hunts for one defect
	patienceFactor  = 10        // a hunt may take so many times its budget on a busy machine's clock
	patienceMin     = time.Minute
	hunterFolder    = "trial/defects/hunter"
	lastWordsBytes  = 4 << 10
	seedsOfHuntsMax = 1_000_000 // below the stride, so that no seed is run twice
)

// A median of few hunts that each take long says little of a bug that is found by luck. So a defect whose median is above
// slowSeconds is hunted slowCampaigns times, unless less than fewCampaigns were asked for: that is a quick look.
const (
	slowSeconds   = 20.0
	slowCampaigns = 10
	fewCampaigns  = 3
)

// Options says what to hunt for.
type Options struct {
	Sources    string   // a directory inside the module
	IDs        []string // empty: the whole catalogue
	Campaigns  int      // hunts for each defect; from 3 on, those that take above 20 s of processor time are hunted ten times
	Workers    int      // processes side by side
	Seed       uint64   // first seed of the first hunt
	CPUSeconds float64  // budget of each hunt
	// Watch is told after each hunt. Calls do not overlap.
	Watch func(Progress)
}

// Progress is a hunt that has ended, and how many have.
type Progress struct {
	Defect      string
	Catch       Catch
	Hunts, Most int
}

// Row says how one defect fared. Of several hunts it shows the median; one that found nothing counts as endless.
type Row struct {
	ID         string  `json:"id"`
	Caught     bool    `json:"caught"`
	Checker    string  `json:"checker"`
	Seeds      int64   `json:"seeds"`
	CPUSeconds float64 `json:"cpu_seconds"`
	Title      string  `json:"title"`
	Origin     string  `json:"origin"`
	Mechanism  string  `json:"mechanism"`
	UnitTest   string  `json:"unit_test"`
	Scenario   string  `json:"scenario"`
	Hunts      []Catch `json:"hunts"`
}

// Table is the detection table.
type Table struct {
	Campaigns int     `json:"campaigns"`
	Budget    float64 `json:"budget_cpu_seconds"`
	Caught    int     `json:"caught"`
	Survived  int     `json:"survived"`
	Defects   []Row   `json:"defects"`
}

// Detect builds the overlay program once and hunts for every defect, several times from different seeds.
func Detect(ctx context.Context, o Options) (*Table, error) {
	chosen, err := choose(o.IDs)
	if err != nil {
		return nil, err
	}
	root, err := FindSources(o.Sources)
	if err != nil {
		return nil, err
	}
	directory, err := os.MkdirTemp("", "lakebed-defects-")
	if err != nil {
		return nil, fmt.Errorf("make room for the overlay: %w", err)
	}
	defer os.RemoveAll(directory)
	program, err := Build(ctx, root, directory, hunterFolder)
	if err != nil {
		return nil, err
	}
	d := detection{options: o, program: program, chosen: chosen, hunts: make([][]Catch, len(chosen))}
	if err := d.run(ctx); err != nil {
		return nil, err
	}
	return d.table(), nil
}

func choose(ids []string) ([]Defect, error) {
	if len(ids) == 0 {
		return All(), nil
	}
	var chosen []Defect
	for _, id := range ids {
		d, err := Find(id)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, d)
	}
	return chosen, nil
}

// detection is a run of all hunts.
type detection struct {
	options Options
	program string
	chosen  []Defect

	mutex sync.Mutex
	hunts [][]Catch // by defect
	done  int
	more  int // hunts of slow defects, beyond those asked for
}

// place is one hunt of one defect.
type place struct{ defect, campaign int }

// run does the hunts that were asked for, and then more of those that take long.
func (d *detection) run(ctx context.Context) error {
	var all []place
	for i := range d.chosen {
		for campaign := range d.options.Campaigns {
			all = append(all, place{i, campaign})
		}
	}
	if err := d.runAll(ctx, all); err != nil {
		return err
	}
	more := d.slow()
	d.more = len(more)
	return d.runAll(ctx, more)
}

// slow are the hunts that the defects with a high median lack.
func (d *detection) slow() (more []place) {
	if d.options.Campaigns < fewCampaigns {
		return nil
	}
	for i := range d.chosen {
		if row := rowOf(&d.chosen[i], d.hunts[i]); row.Caught && row.CPUSeconds <= slowSeconds {
			continue
		}
		for campaign := d.options.Campaigns; campaign < slowCampaigns; campaign++ {
			more = append(more, place{i, campaign})
		}
	}
	return more
}

// runAll starts hunts, each in a process of its own.
func (d *detection) runAll(ctx context.Context, all []place) error {
	places := make(chan place)
	var workers sync.WaitGroup
	for range max(d.options.Workers, 1) {
		workers.Go(func() {
			for p := range places {
				d.settle(p.defect, d.hunt(ctx, &d.chosen[p.defect], p.campaign))
			}
		})
	}
	for _, p := range all {
		places <- p
	}
	close(places)
	workers.Wait()
	return ctx.Err()
}

// hunt runs one hunt to its end. A process that does not come to one has caught nothing.
func (d *detection) hunt(ctx context.Context, defect *Defect, campaign int) Catch {
	patience := max(patienceMin, time.Duration(patienceFactor*d.options.CPUSeconds*float64(time.Second)))
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := runHunter(ctx, d.program, Hunt{
		Defect: defect.ID, Scenario: defect.Scenario, Checkers: defect.Checkers,
		Seed: d.options.Seed + uint64(campaign)*seedStride, SeedsMax: seedsOfHuntsMax, CPUSeconds: d.options.CPUSeconds,
	})
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", patience)
	}
	if err != nil {
		found.Failure = err.Error()
	}
	return found
}

// runHunter runs a hunt in a process of the overlay program.
func runHunter(ctx context.Context, program string, h Hunt) (Catch, error) {
	argument, err := json.Marshal(h)
	if err != nil {
		return Catch{}, fmt.Errorf("hunt for %s: %w", h.Defect, err)
	}
	command := exec.CommandContext(ctx, program, string(argument))
	command.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=400") // a world is one thread, and what it costs is allocation
	var said bytes.Buffer
	command.Stderr = &said
	output, err := command.Output()
	if err != nil {
		return Catch{}, fmt.Errorf("hunt for %s: %w: %s", h.Defect, err, lastWords(said.String()))
	}
	var c Catch
	if err := json.Unmarshal(output, &c); err != nil {
		return Catch{}, fmt.Errorf("hunt for %s: read the answer: %w", h.Defect, err)
	}
	return c, nil
}

func lastWords(text string) string {
	return strings.TrimSpace(text[max(len(text)-lastWordsBytes, 0):])
}

func (d *detection) settle(defect int, found Catch) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.hunts[defect] = append(d.hunts[defect], found)
	d.done++
	if d.options.Watch != nil {
		d.options.Watch(Progress{
			Defect: d.chosen[defect].ID, Catch: found, Hunts: d.done, Most: len(d.chosen)*d.options.Campaigns + d.more,
		})
	}
}

func (d *detection) table() *Table {
	t := &Table{Campaigns: d.options.Campaigns, Budget: d.options.CPUSeconds}
	for i := range d.chosen {
		row := rowOf(&d.chosen[i], d.hunts[i])
		t.Defects = append(t.Defects, row)
		if row.Caught {
			t.Caught++
		} else {
			t.Survived++
		}
	}
	return t
}

// rowOf takes the median of the hunts.
func rowOf(d *Defect, hunts []Catch) Row {
	row := Row{
		ID: d.ID, Title: d.Title, Origin: d.Origin, Mechanism: d.Mechanism, UnitTest: d.UnitTest, Scenario: d.Scenario, Hunts: hunts,
	}
	slices.SortFunc(hunts, func(a, b Catch) int {
		return cmp.Or(cmp.Compare(a.cost(), b.cost()), cmp.Compare(a.Seed, b.Seed))
	})
	if len(hunts) == 0 {
		return row
	}
	middle := hunts[len(hunts)/2]
	row.Caught, row.Checker, row.CPUSeconds = middle.Caught, middle.Checker, middle.CPUSeconds
	seeds := make([]int64, len(hunts))
	for i := range hunts {
		seeds[i] = hunts[i].Seeds
	}
	slices.Sort(seeds)
	row.Seeds = seeds[len(seeds)/2]
	return row
}

// cost orders hunts: those that caught something by their processor time, and then the others.
func (c *Catch) cost() float64 {
	if !c.Caught {
		return math.Inf(1)
	}
	return c.CPUSeconds
}

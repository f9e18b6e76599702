package defects

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"lakebed/trial"
)

// Hunt says what one process is to look for.
type Hunt struct {
	Defect     string   `json:"defect"` // empty: none, so that nothing should be found
	Scenario   string   `json:"scenario"`
	Checkers   []string `json:"checkers"`
	Seed       uint64   `json:"seed"`
	SeedsMax   int64    `json:"seeds_max,omitempty"`   // zero: no bound
	CPUSeconds float64  `json:"cpu_seconds,omitempty"` // budget; zero: no bound
}

// Catch is what a hunt has found.
type Catch struct {
	Caught     bool    `json:"caught"`
	Checker    string  `json:"checker,omitempty"`
	Signature  string  `json:"signature,omitempty"`
	Seed       uint64  `json:"seed"`  // the last one that ran: if it was caught, the one that shows it
	Seeds      int64   `json:"seeds"` // that were needed
	CPUSeconds float64 `json:"cpu_seconds"`
	Hash       uint64  `json:"hash"` // of all traces together
	// Others counts what checkers reported that the hunt did not name.
	Others map[string]int64 `json:"others,omitempty"`
	// Failure says why the hunt came to no end. Empty: it did.
	Failure string `json:"failure,omitempty"`
}

// Run hunts in this process.
func (h Hunt) Run() (Catch, error) {
	scenario, err := trial.Find(h.Scenario)
	if err != nil {
		return Catch{}, err
	}
	if h.SeedsMax <= 0 && h.CPUSeconds <= 0 {
		return Catch{}, fmt.Errorf("a hunt for %q needs an end: seeds or processor time", h.Defect)
	}
	c := Catch{Others: map[string]int64{}}
	begun := cpuTime()
	for !c.Caught && (h.SeedsMax <= 0 || c.Seeds < h.SeedsMax) && (h.CPUSeconds <= 0 || c.CPUSeconds < h.CPUSeconds) {
		c.Seed = h.Seed + uint64(c.Seeds)
		result := trial.Run(trial.Options{Scenario: scenario, Seed: c.Seed, Defect: h.Defect})
		c.Seeds++
		c.Hash = c.Hash*0x100000001b3 ^ result.Hash ^ result.Image
		c.look(&result, h.Checkers)
		if c.Caught && h.Defect != "" {
			h.confirm(&c, scenario)
		}
		c.CPUSeconds = (cpuTime() - begun).Seconds()
	}
	return c, nil
}

// confirm takes a catch back if the engine fails in the same way on this seed without the defect: then it is the engine's
// own mistake, and the defect has hidden behind it.
func (h *Hunt) confirm(c *Catch, scenario trial.Scenario) {
	result := trial.Run(trial.Options{Scenario: scenario, Seed: c.Seed})
	for _, f := range result.Findings {
		if f.Checker == c.Checker && f.Signature == c.Signature {
			c.Others["also without the defect: "+f.Signature]++
			c.Caught, c.Checker, c.Signature = false, "", ""
			return
		}
	}
}

// look takes note of what a trial's checkers say.
func (c *Catch) look(result *trial.Result, checkers []string) {
	for _, f := range result.Findings {
		if !slices.Contains(checkers, f.Checker) {
			c.Others[f.Signature]++
		} else if !c.Caught {
			c.Caught, c.Checker, c.Signature = true, f.Checker, f.Signature
		}
	}
}

// cpuTime is the processor time of this process.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

package campaign

import (
	"errors"
	"fmt"
	"time"

	"lakebed/faults"
	"lakebed/sim"
	"lakebed/trial"
)

// purpose is why a trial runs.
type purpose string

const (
	sweep      purpose = "seed"       // one of the campaign's seeds
	again      purpose = "again"      // a seed for the second time, or one more
	canary     purpose = "canary"     // a trial that should fail
	divergence purpose = "divergence" // where do two runs of a seed part?
)

// job is what a worker is asked to do.
type job struct {
	Purpose  purpose `json:"purpose"`
	Scenario string  `json:"scenario"`
	Seed     uint64  `json:"seed"`
	Defect   string  `json:"defect,omitempty"`

	// The rest stays with the parent.
	avoid     []int64     // the processes that should not run it, because they ran it before
	first     fingerprint // what the first run gave
	failed    groupKey    // the group of the first run, if that failed
	replay    int         // how many runs there were after the first one
	more      int         // how many are to follow this one
	signature string      // of the failure that a bisection is to explain
}

// request is a line from parent to worker.
type request struct {
	Batch []job `json:"batch"`
}

// answer is a line from worker to parent.
type answer struct {
	Ready      bool          `json:"ready,omitempty"`
	Result     *trial.Result `json:"result,omitempty"`
	Divergence string        `json:"divergence,omitempty"`
	CPU        time.Duration `json:"cpu_nanos,omitempty"`
}

// fingerprint is what two runs of a trial must have in common. The verdict belongs to it: a checker that judges one
// history in two ways is as bad as a world that runs in two ways.
type fingerprint struct {
	Hash    uint64        `json:"hash"`
	Events  int64         `json:"events"`
	Image   uint64        `json:"image"`
	Verdict trial.Verdict `json:"verdict"`
}

func fingerprintOf(r *trial.Result) fingerprint {
	return fingerprint{r.Hash, r.Events, r.Image, r.Verdict}
}

func (f fingerprint) String() string {
	return fmt.Sprintf("trace %016x, %d events, disks %016x, %s", f.Hash, f.Events, f.Image, f.Verdict)
}

// do runs one job, wherever it is called.
func (c Catalogue) do(j job) (answer, error) {
	scenario, err := c.find(j.Scenario)
	if err != nil {
		return answer{}, err
	}
	o := trial.Options{Scenario: scenario, Seed: j.Seed, Defect: j.Defect}
	before := ownCPU()
	if j.Purpose == divergence {
		text := c.firstDivergence(o)
		return answer{Divergence: text, CPU: ownCPU() - before}, nil
	}
	result := c.Run(o)
	result.Scenario, result.Seed = scenario.Name, j.Seed
	if !result.Failed() || j.Purpose == canary {
		result.Plan = faults.Plan{} // nobody asks for it, and it is most of the line
	}
	return answer{Result: &result, CPU: ownCPU() - before}, nil
}

// firstDivergence is the text that goes with two runs of a seed that differ.
func (c Catalogue) firstDivergence(o trial.Options) string {
	found, err := sim.FirstDivergence(sim.Config{Seed: o.Seed}, func(config sim.Config) {
		watched := o
		watched.Observer = config.Observer
		c.Run(watched)
	})
	switch {
	case errors.Is(err, sim.ErrElusive):
		return "runs in one process differ from event to event in a new place each time"
	case err != nil:
		return err.Error()
	case found == nil:
		return "runs within one process are equal: look for what differs between processes (addresses, environment, global state)"
	}
	return found.String()
}

package shrink

import (
	"fmt"
	"testing"

	"lakebed/trial"
)

func TestX(t *testing.T) {
	for _, name := range []string{"canary", "cluster-canary"} {
		s, err := trial.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for seed := uint64(1); seed < 200 && n < 3; seed++ {
			if r := trial.Run(trial.Options{Scenario: s, Seed: seed}); !r.Failed() {
				continue
			}
			n++
			r, err := Run(t.Context(), Options{Trial: trial.Options{Scenario: s, Seed: seed}, Run: trial.Run,
				Watch: func(s Stage) {
					fmt.Printf("  %-18s %4d tries %4d ok %3d faults %4d ops %.2f s\n", s.Name, s.Tries, s.Accepted, s.Faults, s.Operations, s.Seconds)
				}})
			if err != nil {
				t.Error(err)
				continue
			}
			fmt.Printf("%s %d %s %+v -> %+v, needed %d, tries %d, %.1f s\n", name, seed, r.Ending, r.Before, r.After, r.Needed, r.Tries, r.Seconds)
			fmt.Println(r.Signature)
			text, _ := r.Trial.Plan.MarshalJSON()
			fmt.Printf("%s %+v\n", text, r.Trial.Reduction)
		}
	}
}

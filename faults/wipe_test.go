package faults

import (
	"errors"
	"math/rand/v2"
	"testing"

	"lakebed/engine/host"
)

// TestAWipedNodeComesBackWithEmptyDisksUnderItsName: what it synced is gone, what it writes afterwards stays, also when a
// crash strikes between the wipe and the restart.
func TestAWipedNodeComesBackWithEmptyDisksUnderItsName(t *testing.T) {
	for _, between := range []bool{false, true} {
		plan := Plan{Elements: []Element{
			{ID: "wipe", Kind: Wipe, Trigger: visit("test.synced", 1), Target: Target{Node: "a"}, Params: Params{RestartAfter: 20 * ms}},
			{ID: "kill", Kind: Kill, Trigger: visit("test.synced", 2), Target: Target{Node: "a"}, Params: Params{RestartAfter: ms}},
		}}
		if between {
			plan.Elements = append(plan.Elements, Element{ID: "cut", Kind: PowerCut, Trigger: Trigger{At: 10 * ms}, Target: Target{Node: "a"}})
		}
		found := map[int]bool{}
		_, d := alone(t, 1, plan, func(h host.Host, life int) {
			dir, err := h.Disk(testVolume)
			must(t, err)
			_, err = dir.Open("f")
			found[life] = err == nil
			if errors.Is(err, host.ErrNotExist) {
				_, f := newFile(t, h, "f")
				must(t, f.Sync())
			}
			h.Probe().Mark(host.Event{Name: "test.synced"})
		})
		if len(found) != 3 || found[1] || found[2] || !found[3] {
			t.Errorf("crash between: %v: the file was found in the lives %v, wanted in the third alone", between, found)
		}
		if w := d.Damage(); len(w) != 1 || w[0].ID != "wipe" || w[0].Node != "a" || w[0].Volume != "" {
			t.Errorf("crash between: %v: wounds %+v", between, w)
		}
	}
}

// TestFragileNodesAreNeverMoreThanAllowed, and every number up to that is drawn, every node at some time.
func TestFragileNodesAreNeverMoreThanAllowed(t *testing.T) {
	nodes := []string{"a", "b", "c"}
	for most := range 5 {
		sizes, drawn := map[int]int{}, map[string]int{}
		for seed := range uint64(200) {
			a := DrawFragile(rand.New(rand.NewPCG(seed, 1)), nodes, most)
			sizes[len(a.Fragile)]++
			for node := range a.Fragile {
				drawn[node]++
			}
			for _, node := range nodes {
				wipe := Element{Kind: Wipe, Target: Target{Node: node}}
				if a.Permits(wipe) != a.Fragile[node] {
					t.Fatalf("%d allowed: wipe of %s with %+v", most, node, a)
				}
			}
		}
		if want := min(most, len(nodes)) + 1; len(sizes) != want {
			t.Errorf("%d allowed: drew %v, wanted every size below %d", most, sizes, want)
		}
		for size := range sizes {
			if size > most {
				t.Errorf("%d allowed: drew %d", most, size)
			}
		}
		if most > 0 && len(drawn) != len(nodes) {
			t.Errorf("%d allowed: drew only %v", most, drawn)
		}
	}
}

package trial

import (
	"reflect"
	"testing"

	"lakebed/sim"
)

// Goal: a trial that is looked at has the result of one that is not, and its course has times for what clients did, what
// the plan did and what the store was told.
func TestLookingAtATrialChangesNothingAndTellsItsCourse(t *testing.T) {
	for _, name := range []string{"bookie", "cluster", "segments", "commitlog"} {
		s, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		sights := map[sim.SightKind]int{}
		course := Course{Look: func(s *sim.Sight) { sights[s.Kind]++ }}
		plain, looked := Run(Options{Scenario: s, Seed: 3}), Run(Options{Scenario: s, Seed: 3, Course: &course})
		if !reflect.DeepEqual(plain, looked) {
			t.Errorf("%s: looking changes the result:\n%+v\n%+v", name, plain, looked)
		}
		if len(course.Operations) == 0 || int64(len(course.Operations)) > looked.Operations || course.Healed == 0 || course.Ended < course.Healed ||
			len(course.Firings) == 0 || len(course.Nodes) == 0 ||
			(course.History != nil) != (name == "cluster") || (course.BookieHistory != nil) != (name == "bookie") {
			t.Errorf("%s: the course is not told: %d operations, healed at %s, ended at %s, %d firings, nodes %v", name,
				len(course.Operations), course.Healed, course.Ended, len(course.Firings), course.Nodes)
		}
		for _, op := range course.Operations {
			if op.Begin <= 0 || op.End != Never && op.End < op.Begin || op.End > course.Ended || op.Node == "" || op.Text == "" {
				t.Errorf("%s: %+v", name, op)
			}
		}
		if s.Cluster != nil && (len(course.Metadata) == 0 || course.Metadata[0].State != "open" || len(course.Metadata[0].Fragments) == 0) {
			t.Errorf("%s: metadata is not told: %+v", name, course.Metadata)
		}
		for _, kind := range []sim.SightKind{sim.SightStart, sim.SightMark, sim.SightDisk, sim.SightDiskEnd} {
			if sights[kind] == 0 {
				t.Errorf("%s: no %s was seen: %v", name, kind, sights)
			}
		}
		t.Log(name, sights)
	}
}

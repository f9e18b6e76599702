package faults

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lakebed/sim"
	"lakebed/sim/disk"
)

// roundTrip saves the plan and loads it again.
func roundTrip(t *testing.T, plan Plan) Plan {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.json")
	if err := plan.Save(file); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(plan, loaded) {
		t.Errorf("saved %+v\nloaded %+v", plan, loaded)
	}
	return loaded
}

// TestEveryPlanSurvivesItsFile.
func TestEveryPlanSurvivesItsFile(t *testing.T) {
	for _, c := range strong {
		roundTrip(t, c.plan)
	}
	roundTrip(t, Plan{})
	roundTrip(t, Plan{Elements: []Element{{
		ID: "all", Kind: PowerCut, Trigger: Trigger{Operation: &Operation{Node: "a", Volume: "v", Kind: sim.DiskTruncate, Path: "x/*", Nth: 9}},
		Target: Target{Node: "a"}, Params: Params{Survival: disk.Mixed, RestartAfter: 1234567 * time.Nanosecond},
	}}})
}

// TestTheFormOfPlansStaysAsItIs: files of old failures must still load.
func TestTheFormOfPlansStaysAsItIs(t *testing.T) {
	golden, err := os.ReadFile("testdata/plan.json")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Load("testdata/plan.json")
	if err != nil {
		t.Fatal(err)
	}
	want := Plan{Elements: []Element{
		{ID: "e01-power-cut", Kind: PowerCut, Trigger: Trigger{Visit: &Visit{Node: "bookie1", Point: "journal.synced", Nth: 3}},
			Target: Target{Node: "bookie1"}, Params: Params{Survival: disk.Torn, RestartAfter: 250 * time.Millisecond}},
		{ID: "e02-write-error", Kind: WriteError,
			Trigger: Trigger{Operation: &Operation{Node: "bookie1", Volume: "ledger", Kind: sim.DiskWrite, Path: "*.log", Nth: 12}},
			Target:  Target{Node: "bookie1", Volume: "ledger", Path: "*.log", Operation: "write"}, Params: Params{Times: 2, Every: 3}},
		{ID: "e03-slow-link", Kind: SlowLink, Trigger: Trigger{At: 1500 * time.Millisecond},
			Target: Target{Node: "bookie1", Peer: "client"}, Params: Params{For: time.Second, Factor: 20}},
	}}
	if !reflect.DeepEqual(plan, want) {
		t.Errorf("loaded %+v", plan)
	}
	file := filepath.Join(t.TempDir(), "plan.json")
	must(t, want.Save(file))
	if again, err := os.ReadFile(file); err != nil || string(again) != string(golden) {
		t.Errorf("saved %s, error %v", again, err)
	}
}

// wrong are plans that are none, each in one way, and a word of what is said about them.
var wrong = []struct{ text, says string }{
	{``, "EOF"},
	{`[]`, "array"},
	{`{"elements":[],"seed":1}`, "seed"},
	{`{"elements":[]} {}`, "behind"},
	{element(`"kind":"kil"`), "kil"},
	{element(`"kinds":"kill"`), "kinds"},
	{element(`"id":""`), "id"},
	{`{"elements":[` + body(``) + `,` + body(``) + `]}`, "two elements"},
	{element(`"trigger":{}`), "one of at"},
	{element(`"trigger":{"at":"1s","visit":{"node":"a","point":"p","nth":1}}`), "one of at"},
	{element(`"trigger":{"at":"1s","after":"2s"}`), "after"},
	{element(`"trigger":{"at":1000}`), "at"},
	{element(`"trigger":{"at":"-1s"}`), "before the world"},
	{element(`"trigger":{"at":"soon"}`), "soon"},
	{element(`"trigger":{"visit":{"node":"a","point":"p","nth":0}}`), "visit"},
	{element(`"trigger":{"visit":{"node":"a","nth":1}}`), "point"},
	{element(`"trigger":{"operation":{"node":"a","volume":"v","kind":"scribble","nth":1}}`), "scribble"},
	{element(`"trigger":{"operation":{"node":"a","volume":"v","kind":"write","path":"[","nth":1}}`), "pattern"},
	{element(`"trigger":{"operation":{"node":"a","kind":"write","nth":1}}`), "volume"},
	{element(`"target":{}`), "target"},
	{element(`"target":{"node":"a","volume":"v"}`), "target"},
	{element(`"target":{"node":"a","peer":"b"}`), "target"},
	{element(`"target":{"node":"a","path":"x"}`), "target"},
	{element(`"params":{"for":"1s"}`), "takes no for"},
	{element(`"params":{"restart_after":"-1s"}`), "negative"},
	{element(`"params":{"survival":"keep"}`), "survival"},
	{element(`"params":{"stays_down":true,"restart_after":"1s"}`), "stay down"},
	{element(`"params":{"lasts":"1s"}`), "lasts"},
	{element(`"kind":"swizzle","params":{"for":"1s"}`), "draws its nodes"},
	{element(`"target":{"node":"@named"}`), "at a visit only"},
	{element(`"kind":"partition","target":{"node":"a","peer":"@visitor"},"params":{"for":"1s"}`), "at a visit only"},
	{element(`"kind":"clock-drift","params":{"for":"1s"}`), "ppm"},
	{element(`"kind":"clock-drift","params":{"for":"1s","ppm":-1000000}`), "at most"},
	{element(`"kind":"slow-receiver","params":{"for":"1s"}`), "delay"},
	{element(`"kind":"bit-rot","target":{"node":"a","volume":"v"},"params":{"again":-1}`), "negative"},
	{element(`"kind":"power-cut"`), "survival"},
	{element(`"kind":"power-cut","params":{"survival":"some"}`), "some"},
	{element(`"kind":"pause"`), "needs one of for"},
	{element(`"kind":"perhaps"`), "visit"},
	{element(`"kind":"partition","target":{"node":"a","peer":"a"},"params":{"for":"1s"}`), "two different"},
	{element(`"kind":"slow-disk","target":{"node":"a","volume":"v"},"params":{"for":"1s"}`), "delay, factor"},
	{element(`"kind":"read-error","target":{"node":"a","volume":"v","operation":"write"},"params":{"times":1}`), "write"},
	{element(`"kind":"sync-error","target":{"node":"a","volume":"v","operation":"sync"},"params":{"times":1}`), "limited"},
	{element(`"kind":"read-error","target":{"node":"a","volume":"v","path":"[x"},"params":{"times":1}`), "pattern"},
}

// body is a valid element but for the fields that change.
func body(changes string) string {
	fields := map[string]json.RawMessage{}
	for _, text := range []string{`"id":"x","kind":"kill","trigger":{"at":"1s"},"target":{"node":"a"}`, changes} {
		if err := json.Unmarshal([]byte("{"+text+"}"), &fields); err != nil {
			panic(err)
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func element(changes string) string { return `{"elements":[` + body(changes) + `]}` }

// TestWhatIsNoPlanIsRefusedWithAReason, and changes nothing.
func TestWhatIsNoPlanIsRefusedWithAReason(t *testing.T) {
	var valid Plan
	if err := valid.UnmarshalJSON([]byte(element(``))); err != nil {
		t.Fatalf("the plan without a fault: %v", err)
	}
	for _, c := range wrong {
		plan := valid
		err := plan.UnmarshalJSON([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want a word of %q", c.text, err, c.says)
		}
		if err != nil && !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrUnknownKind) {
			t.Errorf("%s: the error %v is of no class", c.text, err)
		}
		if !reflect.DeepEqual(plan, valid) {
			t.Errorf("%s: changed the plan", c.text)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "missing.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// FuzzPlan: whatever the bytes, there is an error or a plan that survives its own form.
func FuzzPlan(f *testing.F) {
	for _, c := range wrong {
		f.Add([]byte(c.text))
	}
	for seed := range uint64(3) {
		text, err := Draw(sim.Stream(seed, "plan"), EveryKind(), testShape(time.Second)).MarshalJSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var plan, again Plan
		if plan.UnmarshalJSON(text) != nil {
			return
		}
		form, err := plan.MarshalJSON()
		if err == nil {
			err = again.UnmarshalJSON(form)
		}
		if err != nil || !reflect.DeepEqual(plan, again) {
			t.Fatalf("%s became %s: %v", text, form, err)
		}
	})
}

// TestEditingKeepsOrderAndTheOriginal.
func TestEditingKeepsOrderAndTheOriginal(t *testing.T) {
	plan := Plan{Elements: []Element{
		{ID: "a", Kind: Kill, Trigger: Trigger{At: 1}}, {ID: "b", Kind: Pause, Trigger: Trigger{At: 2}},
		{ID: "c", Kind: Kill, Trigger: visit("p", 1)}, {ID: "d", Kind: Reset, Trigger: Trigger{At: 3}},
	}}
	for _, c := range []struct {
		name string
		got  Plan
		want string
	}{
		{"without", plan.Without("b", "d", "x"), "ac"},
		{"without nothing", plan.Without(), "abcd"},
		{"only", plan.Only("d", "a", "x"), "ad"},
		{"only kinds", plan.OnlyKinds(Reset, Kill), "acd"},
		{"no kinds", plan.OnlyKinds(), ""},
		{"before 2", plan.Before(2), "ac"},
		{"before 3", plan.Before(3), "abc"},
	} {
		if got := strings.Join(c.got.IDs(), ""); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if strings.Join(plan.IDs(), "") != "abcd" {
		t.Error("editing changed the original")
	}
}

// TestTheAllowanceLetsDamageStrikeFragileNodesOnly.
func TestTheAllowanceLetsDamageStrikeFragileNodesOnly(t *testing.T) {
	at := func(id string, kind Kind, node string) Element {
		e := Element{ID: id, Kind: kind, Target: Target{Node: node, Volume: "v"}}
		if kind == Kill {
			e.Target.Volume = ""
		}
		return e
	}
	plan := Plan{Elements: []Element{at("1", Kill, "a"), at("2", BitRot, "a"), at("3", Latent, "b"), at("4", Kill, "b")}}
	fragile := map[string]bool{"a": true}
	for _, c := range []struct {
		allowance Allowance
		want      string
	}{
		{Allowance{}, "14"}, {Allowance{Damage: true}, "14"}, {Allowance{Fragile: fragile}, "14"}, {Allowance{Fragile: fragile, Damage: true}, "124"},
	} {
		kept := c.allowance.Filter(plan)
		if got := strings.Join(kept.IDs(), ""); got != c.want {
			t.Errorf("%+v keeps %q, want %q", c.allowance, got, c.want)
		}
		if err := Validate(kept, c.allowance); err != nil {
			t.Errorf("%+v: %v", c.allowance, err)
		}
		if err := Validate(plan, c.allowance); !errors.Is(err, ErrNotAllowed) || errors.Is(err, ErrInvalid) {
			t.Errorf("%+v lets damage of b pass: %v", c.allowance, err)
		}
	}
}

// TestAPlanFitsOnlyAWorldWithItsNodes.
func TestAPlanFitsOnlyAWorldWithItsNodes(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	w.NewNode("a")
	must(t, one(Kill, Target{Node: "a"}, Params{}).Fits(w))
	for _, plan := range []Plan{
		one(Kill, Target{Node: "b"}, Params{}),
		one(Reset, Target{Node: "a", Peer: "b"}, Params{}),
		{Elements: []Element{rarely("b", 1)}},
		{Elements: []Element{{ID: "x", Kind: Kill, Target: Target{Node: "a"}, Trigger: Trigger{Operation: &Operation{Node: "b", Volume: "v", Kind: sim.DiskRead, Nth: 1}}}}},
	} {
		if err := plan.Fits(w); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), `"b"`) {
			t.Errorf("%+v: %v", plan, err)
		}
	}
}

// TestGeneratedPlansAreValidAndSurviveTheirForm.
func TestGeneratedPlansAreValidAndSurviveTheirForm(t *testing.T) {
	shape := testShape(time.Second)
	generator := PlanGenerator(shape)
	kinds := map[Kind]bool{}
	rapid.Check(t, func(t *rapid.T) {
		plan := generator.Draw(t, "plan")
		if err := Validate(plan, shape.Allowance); err != nil {
			t.Fatal(err)
		}
		form, err := plan.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var again Plan
		if err := again.UnmarshalJSON(form); err != nil {
			t.Fatal(err)
		}
		if len(plan.Elements) > 0 && !reflect.DeepEqual(plan, again) {
			t.Fatalf("%+v became %+v", plan, again)
		}
		for _, e := range plan.Elements {
			kinds[e.Kind] = true
		}
	})
	// A short run draws too few plans to count on a rare kind.
	if !testing.Short() && len(kinds) != len(Kinds()) {
		t.Errorf("only %d of %d kinds were generated", len(kinds), len(Kinds()))
	}
}

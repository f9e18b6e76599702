package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"lakebed/sim"
	"lakebed/sim/disk"
)

// The JSON form of a plan. Durations are texts such as "1.5s", enumerations their names; what is zero is left out.
type (
	planJSON struct {
		Elements []elementJSON `json:"elements"`
	}
	elementJSON struct {
		ID      string      `json:"id"`
		Kind    Kind        `json:"kind"`
		Trigger triggerJSON `json:"trigger"`
		Target  targetJSON  `json:"target,omitzero"`
		Params  paramsJSON  `json:"params,omitzero"`
	}
	triggerJSON struct {
		At        *span          `json:"at,omitempty"`
		Visit     *visitJSON     `json:"visit,omitempty"`
		Operation *operationJSON `json:"operation,omitempty"`
	}
	visitJSON struct {
		Node  string `json:"node"`
		Point string `json:"point"`
		Nth   int64  `json:"nth"`
		After span   `json:"after,omitzero"`
	}
	operationJSON struct {
		Node   string `json:"node"`
		Volume string `json:"volume"`
		Kind   string `json:"kind"`
		Path   string `json:"path,omitempty"`
		Nth    int64  `json:"nth"`
		After  span   `json:"after,omitzero"`
	}
	targetJSON struct {
		Node      string `json:"node,omitempty"`
		Volume    string `json:"volume,omitempty"`
		Path      string `json:"path,omitempty"`
		Operation string `json:"operation,omitempty"`
		Peer      string `json:"peer,omitempty"`
	}
	paramsJSON struct {
		For          span   `json:"for,omitzero"`
		Times        int64  `json:"times,omitzero"`
		Every        int64  `json:"every,omitzero"`
		RestartAfter span   `json:"restart_after,omitzero"`
		StaysDown    bool   `json:"stays_down,omitzero"`
		Survival     string `json:"survival,omitempty"`
		Jump         span   `json:"jump,omitzero"`
		Delay        span   `json:"delay,omitzero"`
		Factor       int64  `json:"factor,omitzero"`
		Length       int64  `json:"length,omitzero"`
		PPM          int64  `json:"ppm,omitzero"`
		Again        int64  `json:"again,omitzero"`
	}
)

// span is a duration as text: plans are read and edited by people.
type span time.Duration

// MarshalText writes the duration as time.Duration prints it, which loses nothing.
func (s span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*s = span(d)
	return err
}

// MarshalJSON writes the plan as it stands in files.
func (p Plan) MarshalJSON() ([]byte, error) {
	wire := planJSON{Elements: make([]elementJSON, 0, len(p.Elements))}
	for i := range p.Elements {
		wire.Elements = append(wire.Elements, p.Elements[i].wire())
	}
	return json.Marshal(wire)
}

// UnmarshalJSON reads a plan and refuses everything that is not one: unknown fields, kinds and parameters, triggers and
// targets that do not fit the kind.
func (p *Plan) UnmarshalJSON(text []byte) error {
	var wire planJSON
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wire); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fmt.Errorf("there is more behind the plan: %w", ErrInvalid)
	}
	var read Plan
	for i := range wire.Elements {
		e, err := wire.Elements[i].element()
		if err != nil {
			return fmt.Errorf("element %d %q: %w", i+1, wire.Elements[i].ID, err)
		}
		read.Elements = append(read.Elements, e)
	}
	if err := read.check(); err != nil {
		return err
	}
	*p = read
	return nil
}

func (e *Element) wire() elementJSON {
	w := elementJSON{ID: e.ID, Kind: e.Kind, Target: targetJSON(e.Target)}
	switch t := e.Trigger; {
	case t.Visit != nil:
		v := t.Visit
		w.Trigger.Visit = &visitJSON{Node: v.Node, Point: v.Point, Nth: v.Nth, After: span(v.After)}
	case t.Operation != nil:
		o := t.Operation
		w.Trigger.Operation = &operationJSON{Node: o.Node, Volume: o.Volume, Kind: o.Kind.String(), Path: o.Path, Nth: o.Nth, After: span(o.After)}
	default:
		at := span(t.At)
		w.Trigger.At = &at
	}
	p := &e.Params
	w.Params = paramsJSON{
		For: span(p.For), Times: p.Times, Every: p.Every, RestartAfter: span(p.RestartAfter), StaysDown: p.StaysDown,
		Jump: span(p.Jump), Delay: span(p.Delay), Factor: p.Factor, Length: p.Length, PPM: p.PPM, Again: p.Again,
	}
	if e.Kind == PowerCut {
		w.Params.Survival = p.Survival.String()
	}
	return w
}

func (w *elementJSON) element() (Element, error) {
	e := Element{ID: w.ID, Kind: w.Kind, Target: Target(w.Target)}
	var err error
	if e.Trigger, err = w.Trigger.trigger(); err != nil {
		return Element{}, err
	}
	p := &w.Params
	e.Params = Params{
		For: time.Duration(p.For), Times: p.Times, Every: p.Every, RestartAfter: time.Duration(p.RestartAfter), StaysDown: p.StaysDown,
		Jump: time.Duration(p.Jump), Delay: time.Duration(p.Delay), Factor: p.Factor, Length: p.Length, PPM: p.PPM,
		Again: p.Again,
	}
	switch {
	case e.Kind == PowerCut:
		e.Params.Survival, err = parseSurvival(p.Survival)
	case p.Survival != "":
		err = fmt.Errorf("%s takes no survival: %w", e.Kind, ErrInvalid)
	}
	return e, err
}

func (w *triggerJSON) trigger() (Trigger, error) {
	var t Trigger
	count := 0
	if w.At != nil {
		t.At = time.Duration(*w.At)
		count++
	}
	if v := w.Visit; v != nil {
		t.Visit = &Visit{Node: v.Node, Point: v.Point, Nth: v.Nth, After: time.Duration(v.After)}
		count++
	}
	if o := w.Operation; o != nil {
		kind, err := parseDiskKind(o.Kind)
		if err != nil {
			return Trigger{}, err
		}
		t.Operation = &Operation{Node: o.Node, Volume: o.Volume, Kind: kind, Path: o.Path, Nth: o.Nth, After: time.Duration(o.After)}
		count++
	}
	if count != 1 {
		return Trigger{}, fmt.Errorf("a trigger is one of at, visit, operation: %w", ErrInvalid)
	}
	return t, nil
}

// lastDiskKind ends the loops over all kinds of operation.
const lastDiskKind = sim.DiskTruncate

func parseDiskKind(name string) (sim.DiskKind, error) {
	for kind := sim.DiskRead; kind <= lastDiskKind; kind++ {
		if kind.String() == name {
			return kind, nil
		}
	}
	return 0, fmt.Errorf("unknown disk operation %q: %w", name, ErrInvalid)
}

func parseSurvival(name string) (disk.Survival, error) {
	for s := disk.Keep; s <= disk.Mixed; s++ {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("survival %q is none of keep, drop, random-pages, torn, mixed: %w", name, ErrInvalid)
}

// Save writes the plan to a file, for people and for Load.
func (p Plan) Save(file string) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("save fault plan: %w", err)
	}
	return nil
}

// Load reads a plan that Save wrote, or a person.
func Load(file string) (Plan, error) {
	var p Plan
	text, err := os.ReadFile(file)
	if err == nil {
		err = p.UnmarshalJSON(text)
	}
	if err != nil {
		return Plan{}, fmt.Errorf("load fault plan %s: %w", file, err)
	}
	return p, nil
}

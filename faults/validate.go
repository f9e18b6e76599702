package faults

import (
	"fmt"
	"path"
	"slices"

	"lakebed/sim"
	"lakebed/sim/disk"
)

// Validate reports why a plan is no plan, or why the allowance forbids it.
func Validate(plan Plan, allowance Allowance) error {
	if err := plan.check(); err != nil {
		return err
	}
	for i := range plan.Elements {
		if e := &plan.Elements[i]; !allowance.Permits(*e) {
			return fmt.Errorf("element %q: %s on %q: %w", e.ID, e.Kind, e.Target.Node, ErrNotAllowed)
		}
	}
	return nil
}

// Fits reports why the plan cannot be carried out in this world: it names a node that is not there.
func (p Plan) Fits(w *sim.World) error {
	for i := range p.Elements {
		e := &p.Elements[i]
		for _, name := range e.nodes() {
			if w.Node(name) == nil {
				return fmt.Errorf("element %q: there is no node %q: %w", e.ID, name, ErrInvalid)
			}
		}
	}
	return nil
}

// Names reports why the plan cannot be carried out in a world with these nodes.
func (p Plan) Names(nodes []string) error {
	for i := range p.Elements {
		e := &p.Elements[i]
		for _, name := range e.nodes() {
			if !slices.Contains(nodes, name) {
				return fmt.Errorf("element %q: there is no node %q: %w", e.ID, name, ErrInvalid)
			}
		}
	}
	return nil
}

// nodes returns every node that the element names, and none that it leaves to the moment.
func (e *Element) nodes() []string {
	var names []string
	if e.Trigger.Visit != nil && e.Trigger.Visit.Node != AnyNode {
		names = append(names, e.Trigger.Visit.Node)
	}
	if e.Trigger.Operation != nil {
		names = append(names, e.Trigger.Operation.Node)
	}
	if e.Target.Node != "" && !resolved(e.Target.Node) {
		names = append(names, e.Target.Node)
	}
	if e.Target.Peer != "" && !resolved(e.Target.Peer) {
		names = append(names, e.Target.Peer)
	}
	return names
}

// check reports why the plan is no plan.
func (p Plan) check() error {
	seen := map[string]bool{}
	for i := range p.Elements {
		e := &p.Elements[i]
		if e.ID == "" {
			return fmt.Errorf("element %d has no id: %w", i+1, ErrInvalid)
		}
		if seen[e.ID] {
			return fmt.Errorf("two elements have the id %q: %w", e.ID, ErrInvalid)
		}
		seen[e.ID] = true
		if err := e.check(); err != nil {
			return fmt.Errorf("element %q: %w", e.ID, err)
		}
	}
	return nil
}

func (e *Element) check() error {
	if _, err := ParseKind(string(e.Kind)); err != nil {
		return err
	}
	t := traitOf(e.Kind)
	if err := e.Trigger.check(); err != nil {
		return err
	}
	if t.aim == atPoint && e.Trigger.Visit == nil {
		return fmt.Errorf("%s is triggered by a visit: %w", e.Kind, ErrInvalid)
	}
	if err := e.Target.check(t); err != nil {
		return err
	}
	if (resolved(e.Target.Node) || resolved(e.Target.Peer)) && e.Trigger.Visit == nil {
		return fmt.Errorf("%s and %s are known at a visit only: %w", Visitor, Named, ErrInvalid)
	}
	return e.Params.check(t)
}

func (t *Trigger) check() error {
	switch {
	case t.Visit != nil && t.Operation != nil, !t.timed() && t.At != 0:
		return fmt.Errorf("more than one trigger: %w", ErrInvalid)
	case t.Visit != nil:
		if t.Visit.Node == "" || t.Visit.Point == "" || t.Visit.Nth < 1 || t.Visit.After < 0 {
			return fmt.Errorf("a visit names a node, a point and the how manieth, from 1, after a time: %w", ErrInvalid)
		}
	case t.Operation != nil:
		return t.Operation.check()
	case t.At < 0:
		return fmt.Errorf("time %s is before the world began: %w", t.At, ErrInvalid)
	}
	return nil
}

func (o *Operation) check() error {
	if o.Node == "" || o.Volume == "" || o.Nth < 1 || o.After < 0 {
		return fmt.Errorf("an operation names a node, a volume, a kind and the how manieth, from 1, after a time: %w", ErrInvalid)
	}
	if o.Kind > lastDiskKind {
		return fmt.Errorf("there is no operation %d: %w", o.Kind, ErrInvalid)
	}
	return checkPattern(o.Path)
}

func checkPattern(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("path %q is no pattern: %w", pattern, ErrInvalid)
	}
	return nil
}

// check compares the target with what the kind is directed at.
func (t *Target) check(of *trait) error {
	wanted := map[aim]string{
		atNode: "a node", atVolume: "a node and a volume", atLink: "a node and perhaps a peer",
		atPoint: "nothing: its trigger names the point", atWorld: "nothing: it draws its nodes when it strikes",
	}
	node, volume, peer := t.Node != "", t.Volume != "", t.Peer != ""
	if node != (of.aim != atPoint && of.aim != atWorld) || volume != (of.aim == atVolume) || peer && of.aim != atLink ||
		of.aim != atVolume && (t.Path != "" || t.Operation != "") {
		return fmt.Errorf("the target of %s is %s: %w", of.kind, wanted[of.aim], ErrInvalid)
	}
	if t.Peer == t.Node && peer {
		return fmt.Errorf("%s needs two different nodes, not twice %q: %w", of.kind, t.Node, ErrInvalid)
	}
	if err := checkPattern(t.Path); err != nil {
		return err
	}
	if t.Operation == "" {
		return nil
	}
	kind, err := parseDiskKind(t.Operation)
	if err != nil {
		return err
	}
	if _, possible := struck(of.kind); !possible.has(kind) {
		return fmt.Errorf("%s cannot be limited to the operation %q: %w", of.kind, t.Operation, ErrInvalid)
	}
	return nil
}

// check compares the parameters with those that the kind takes.
func (p *Params) check(of *trait) error {
	if p.For < 0 || p.Times < 0 || p.Every < 0 || p.RestartAfter < 0 || p.Delay < 0 || p.Factor < 0 || p.Length < 0 || p.Again < 0 {
		return fmt.Errorf("only jump and ppm may be negative: %w", ErrInvalid)
	}
	if p.PPM < -clockDriftMax || p.PPM > clockDriftMax {
		return fmt.Errorf("a clock drifts by at most %d ppm: %w", clockDriftMax, ErrInvalid)
	}
	if p.Survival > disk.Mixed {
		return fmt.Errorf("there is no survival %d: %w", p.Survival, ErrInvalid)
	}
	given := p.given()
	if extra := given &^ of.takes; extra != 0 {
		return fmt.Errorf("%s takes no %s: %w", of.kind, joined(extra.names()), ErrInvalid)
	}
	for _, need := range of.needs {
		if given&need == 0 {
			return fmt.Errorf("%s needs one of %s: %w", of.kind, joined(need.names()), ErrInvalid)
		}
	}
	if p.StaysDown && p.RestartAfter != 0 {
		return fmt.Errorf("%s with restart_after does not stay down: %w", of.kind, ErrInvalid)
	}
	return nil
}

// given is the set of parameters that are not zero.
func (p *Params) given() param {
	var set param
	add := func(which param, given bool) {
		if given {
			set |= which
		}
	}
	add(paramFor, p.For != 0)
	add(paramTimes, p.Times != 0)
	add(paramEvery, p.Every != 0)
	add(paramRestartAfter, p.RestartAfter != 0)
	add(paramStaysDown, p.StaysDown)
	add(paramSurvival, p.Survival != 0)
	add(paramJump, p.Jump != 0)
	add(paramDelay, p.Delay != 0)
	add(paramFactor, p.Factor != 0)
	add(paramLength, p.Length != 0)
	add(paramPPM, p.PPM != 0)
	add(paramAgain, p.Again != 0)
	return set
}

// paramNames are the names in files, in the order of the bits.
var paramNames = []string{
	"for", "times", "every", "restart_after", "stays_down", "survival", "jump", "delay", "factor", "length", "ppm", "again",
}

func (p param) names() []string {
	var names []string
	for i, name := range paramNames {
		if p>>i&1 == 1 {
			names = append(names, name)
		}
	}
	return names
}

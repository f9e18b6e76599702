package oshost

import "lakebed/engine/host"

// inertProbe is nobody listening: the engine takes its common branches and checks only what is always checked.
type inertProbe struct{}

func (inertProbe) Active() bool            { return false }
func (inertProbe) Perhaps(host.Point) bool { return false }
func (inertProbe) Mark(host.Event)         {}
func (inertProbe) Sample() bool            { return false }

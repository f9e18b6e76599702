package page

import (
	"fmt"
	"strings"

	"lakebed/faults"
	"lakebed/sim/disk"
)

func triggerWords(t *faults.Trigger) string {
	switch {
	case t.Visit != nil:
		return fmt.Sprintf("visit %d of %s to %s", t.Visit.Nth, t.Visit.Node, t.Visit.Point)
	case t.Operation != nil:
		o := t.Operation
		return strings.TrimSpace(fmt.Sprintf("%s %d on %s/%s %s", o.Kind, o.Nth, o.Node, o.Volume, o.Path))
	}
	return "at " + t.At.String()
}

func targetWords(e *faults.Element) string {
	t := &e.Target
	text := t.Node
	for _, part := range []string{t.Volume, t.Path} {
		if part != "" {
			text += "/" + part
		}
	}
	if t.Operation != "" {
		text += ", operation " + t.Operation
	}
	if t.Peer != "" {
		text += " and " + t.Peer
	}
	return text
}

func paramWords(p *faults.Params) string {
	var parts []string
	add := func(there bool, format string, value any) {
		if there {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	add(p.For > 0, "for %s", p.For)
	add(p.Times > 0, "%d times", p.Times)
	add(p.Every > 1, "each %d. time", p.Every)
	add(p.Survival != disk.Keep, "of the unsynced survives: %s", p.Survival)
	add(p.RestartAfter > 0, "starts again after %s", p.RestartAfter)
	add(p.Jump != 0, "by %s", p.Jump)
	add(p.Delay > 0, "by %s each", p.Delay)
	add(p.Factor > 0, "%d times as long", p.Factor)
	add(p.Length > 0, "%d bytes", p.Length)
	if p.StaysDown {
		parts = append(parts, "stays down")
	}
	return strings.Join(parts, ", ")
}

package bench

import (
	"fmt"
	"slices"
	"strings"

	"lakebed/reports"
)

// result puts everything together that the run has measured.
func (r *run) result() reports.Result {
	m := maker{r.options.Seed}
	groups := slices.Concat(r.groups(m), r.ledgers.Groups, r.stores.Groups)
	if costs := reports.Costs(groups, "payload", "CPU", m.seed); len(costs) > 0 {
		groups = append(groups, reports.Group{Name: groupCosts, Note: noteCosts, Cells: costs})
	}
	return reports.Result{
		Schema: reports.Schema, Kind: reports.KindBench, ID: "bench", Title: "The engine on this machine, by the wall clock",
		Command: r.options.Command, Started: r.begun, Build: reports.ThisBuild(), Machine: reports.ThisMachine(), Disk: &r.disk,
		Settings: slices.Concat(r.settings(), r.ledgers.Settings, r.stores.Settings),
		Groups:   groups,
		Goals:    slices.Concat(r.goals(m), r.ledgers.Goals, r.stores.Goals),
		Plots:    slices.Concat(r.plots(m), r.ledgers.Plots, r.stores.Plots),
		Notes:    slices.Concat(r.notes(m), r.ledgers.Notes, r.stores.Notes),
	}
}

func (r *run) groups(m maker) (groups []reports.Group) {
	if len(r.appends) > 0 {
		g := reports.Group{Name: groupAppends, Note: noteAppends}
		for i := range r.appends {
			g.Cells = append(g.Cells, r.appends[i].cell(m))
		}
		groups = append(groups, g)
	}
	if r.fioFound != nil && len(r.fioFound.fios) > 0 {
		groups = append(groups, reports.Group{Name: groupFio, Note: noteFio, Cells: []reports.Cell{r.fioFound.cell(m)}})
	}
	if len(r.readings) > 0 {
		g := reports.Group{Name: groupReads, Note: fmt.Sprintf("Entries of %s; each reader reads one at a time.", sizeWords(readPayloadBytes))}
		for i := range r.readings {
			g.Cells = append(g.Cells, r.readings[i].cell(m))
		}
		groups = append(groups, g)
	}
	return groups
}

// settings are what the figures depend on, besides the engine's defaults.
func (r *run) settings() []reports.Setting {
	pace := "quick"
	if r.options.Thorough {
		pace = "thorough"
	}
	settings := []reports.Setting{{Name: "pace", Value: pace}, {Name: "seed", Value: fmt.Sprint(r.options.Seed)}}
	if r.options.Length > 0 {
		settings = append(settings, reports.Setting{Name: "round", Value: r.options.Length.String()})
	}
	return settings
}

// notes are what a reader must know to trust the figures.
func (r *run) notes(m maker) (notes []string) {
	if !r.options.Thorough {
		notes = append(notes, quickNote)
	}
	if len(r.skipped) > 0 {
		notes = append(notes, fmt.Sprintf("%d arms were skipped because the time was up: %s", len(r.skipped), strings.Join(r.skipped, ", ")))
	}
	if r.fioFound != nil {
		notes = append(notes, r.fioFound.note(m))
	}
	for _, kind := range []ReadKind{Cached, ReadAhead, Cold} {
		for i := range r.readings {
			if r.readings[i].plan.kind == kind {
				notes = append(notes, fmt.Sprintf("reads of a bookie, %s: %s", kind, kind.warmth()))
				break
			}
		}
	}
	return notes
}

package campaign

import (
	"fmt"
	"strings"
	"time"
)

// MergeOptions says which logs to add up.
type MergeOptions struct {
	Logs []string // one for each shard, in any order
	// Partial accepts shards that are missing or have not come to their end. The campaign counts as interrupted then.
	Partial bool
	Out     string // as in Options
	// Catalogue is what the shards ran: failures are run once more for their pages. Zero: no pages.
	Catalogue Catalogue
}

// Merge adds up the shards of a campaign. The sum of all is what the campaign would have found in one place; see
// Summary.Timeless. Logs of different campaigns, and two of one shard, are wrong use.
func Merge(o MergeOptions) (*Summary, error) {
	if len(o.Logs) == 0 {
		return nil, fmt.Errorf("%w: nothing to merge", ErrUsage)
	}
	var parts []*part
	for _, path := range o.Logs {
		found, err := readLog(path)
		if err != nil {
			return nil, err
		}
		parts = append(parts, &part{path, found})
	}
	missing, err := fit(parts)
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 && !o.Partial {
		return nil, fmt.Errorf("%w: %s; run what is missing, or merge with --partial", ErrUsage, strings.Join(missing, "; "))
	}
	summary := sum(parts, missing)
	return summary, summary.save(o.Catalogue, o.Out)
}

// part is a shard of a campaign that is to be merged.
type part struct {
	path string
	*logged
}

// fit refuses logs that are not parts of one campaign. It returns what is missing of that campaign, in words.
func fit(parts []*part) (missing []string, err error) {
	first := &parts[0].book.header
	of := map[int]*part{}
	for _, p := range parts {
		h := &p.book.header
		if difference := first.difference(h); difference != "" {
			return nil, fmt.Errorf("%w: %s and %s are logs of two campaigns: %s", ErrUsage, parts[0].path, p.path, difference)
		}
		if h.Shard.Of != first.Shard.Of {
			return nil, fmt.Errorf("%w: %s is shard %s and %s is shard %s: the campaign was spread in two ways", ErrUsage, parts[0].path, first.Shard, p.path, h.Shard)
		}
		if other := of[h.Shard.Index]; other != nil {
			return nil, fmt.Errorf("%w: %s and %s overlap: both are shard %s", ErrUsage, other.path, p.path, h.Shard)
		}
		of[h.Shard.Index] = p
	}
	var absent []string
	for i := 1; i <= first.Shard.Of; i++ {
		switch p := of[i]; {
		case p == nil && len(absent) < missingListedMax:
			absent = append(absent, Shard{i, first.Shard.Of}.String())
		case p != nil && p.closing == nil:
			missing = append(missing, fmt.Sprintf("%s has not come to its end (simrun campaign --resume %s)", p.path, p.path))
		}
	}
	if count := first.Shard.Of - len(of); count > len(absent) {
		absent = append(absent, fmt.Sprintf("… %d in all", count))
	}
	if len(absent) > 0 {
		missing = append(missing, "there is no log of shard "+joinNames(absent))
	}
	return missing, nil
}

// sum adds up shards that fit.
func sum(parts []*part, missing []string) *Summary {
	header := parts[0].book.header
	shards := header.Shard.Of
	header.Shard = wholeCampaign
	total := newTally(header, nil)
	var wall time.Duration
	for _, p := range parts {
		took := p.last.Elapsed
		if p.closing != nil {
			took = p.book.recall(p.closing)
			total.summary.Workers += p.closing.Summary.Workers
		}
		wall += took
		total.absorb(p.book.tally)
	}
	for _, m := range missing {
		total.early = append(total.early, "merged in part: "+m)
	}
	if shards > 1 {
		total.summary.Merged = len(parts)
	}
	return total.finish(len(missing) > 0, wall)
}

// absorb adds what another part of the campaign has counted.
func (t *tally) absorb(o *tally) {
	s, from := &t.summary, &o.summary
	s.Seeds += from.Seeds
	s.Violations += from.Violations
	s.ClientOperations += from.ClientOperations
	s.Events += from.Events
	s.simulated += from.simulated
	s.DeterminismChecked += from.DeterminismChecked
	s.Nondeterministic += from.Nondeterministic
	for _, c := range []struct{ into, from map[string]int64 }{
		{s.Faults, from.Faults}, {s.Scenarios, from.Scenarios}, {s.Verdicts, from.Verdicts}, {s.Answers, from.Answers}, {s.Marks, from.Marks},
	} {
		merge(c.into, c.from)
	}
	for i := range s.Canaries { // in the order of one header
		s.Canaries[i].Seeds += from.Canaries[i].Seeds
		s.Canaries[i].Caught += from.Canaries[i].Caught
	}
	for hash := range o.hashes {
		t.hashes[hash] = struct{}{}
	}
	for key, g := range o.groups {
		if t.groups[key] == nil {
			t.groups[key] = g
		} else {
			t.groups[key].absorb(g, t.header.Defect)
		}
	}
	t.executed.add(o.executed)
	t.cpu += o.cpu
	t.early = append(t.early, o.early...)
}

func (e *executed) add(o executed) {
	e.events += o.events
	e.simulated += o.simulated
	e.faults += o.faults
	e.crashes += o.crashes
}

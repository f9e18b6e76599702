package experiments

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lakebed/reports"
)

// experiment is a hypothesis with what measures it and what judges it.
type experiment struct {
	Hypothesis
	measure func(context.Context, *run) error
	judge   judge
}

// programs says what belongs to a hypothesis. A test holds that each has both.
func programs() map[ID]experiment {
	return map[ID]experiment{
		"X-07": {measure: measureBatchReads, judge: judgeBatchReads},
		"X-09": {measure: measureStriping, judge: judgeStriping},
		"X-15": {measure: measureIndexes, judge: judgeIndexes},
		"X-16": {measure: measureTimeRules, judge: judgeTimeRules},
		"X-18": {measure: measurePacking, judge: judgePacking},
		"X-19": {measure: measureEjection, judge: judgeEjection},
		"X-20": {measure: measureOrder, judge: judgeOrder},
		"X-21": {measure: measureAccess, judge: judgeAccess},
		"X-22": {measure: measurePreallocation, judge: judgePreallocation},
		"X-25": {measure: measureMixedLog, judge: judgeMixedLog},
		"X-27": {measure: measureQueues, judge: judgeQueues},
		"X-28": {measure: measureTagFilter, judge: judgeTagFilter},
		"X-29": {measure: measurePolls, judge: judgePolls},
		"X-30": {measure: measureRetention, judge: judgeRetention},
		"X-23": {measure: measureSenders, judge: judgeSenders},
		"X-24": {measure: measureReadAhead, judge: judgeReadAhead},
		"X-17": {measure: measureGrowth, judge: judgeGrowth},
		"X-26": {measure: measurePartitions, judge: judgePartitions},
		"X-31": {measure: measurePolicies, judge: judgePolicies},
		"X-45": {measure: measureSlowReplica, judge: judgeSlowReplica},
		"X-46": {measure: measureLACRules, judge: judgeLACRules},
		"X-47": {measure: measureReplicaChoice, judge: judgeReplicaChoice},
		"X-48": {measure: measureBookieFailure, judge: judgeBookieFailure},
		"X-49": {measure: measureFencing, judge: judgeFencing},
		"X-53": {measure: measureLayouts, judge: judgeLayouts},
		"X-70": {measure: measureLinearizable, judge: judgeCampaign},
		"X-71": {measure: measureDurability, judge: judgeCampaign},
		"X-72": {measure: measureMedia, judge: judgeMedia},
		"X-73": {measure: measureMutations, judge: judgeMutations},
		"X-74": {measure: measureDeterminism, judge: judgeDeterminism},
		"X-75": {measure: measureSameness, judge: judgeSameness},
		"X-76": {measure: measureShrinking, judge: judgeShrinking},
	}
}

// find looks an experiment up by its number, in any case: "x-7" and "7" are X-07.
func find(id ID) (experiment, error) {
	wanted := strings.ToUpper(string(id))
	if digits, ok := strings.CutPrefix(wanted, "X-"); ok && len(digits) == 1 {
		wanted = "X-0" + digits
	}
	if _, err := strconv.Atoi(wanted); err == nil {
		wanted = "X-" + fmt.Sprintf("%02s", wanted)
	}
	var known []string
	for _, h := range Hypotheses() {
		if string(h.ID) == wanted {
			e, ok := programs()[h.ID]
			if !ok {
				break
			}
			e.Hypothesis = h
			return e, nil
		}
		known = append(known, string(h.ID))
	}
	return experiment{}, fmt.Errorf("%w: %q; there are: %s", ErrUnknown, id, strings.Join(known, ", "))
}

// Find returns the hypothesis of a number.
func Find(id ID) (Hypothesis, error) {
	e, err := find(id)
	return e.Hypothesis, err
}

// Run runs one experiment and judges it. A context that ends makes it return an error and no result.
func Run(ctx context.Context, id ID, o Options) (*reports.Result, error) {
	e, err := find(id)
	if err != nil {
		return nil, err
	}
	r := &run{Options: o.withDefaults(), hypothesis: &e.Hypothesis, measured: &measured{}, synced: syncedGroups}
	began := time.Now()
	others := reports.WatchOthers()
	if err := e.measure(ctx, r); err != nil {
		if ctx.Err() != nil {
			err = errors.Join(ctx.Err(), err)
		}
		return nil, fmt.Errorf("experiment %s: %w", e.ID, err)
	}
	result := &reports.Result{
		Schema: reports.Schema, Kind: reports.KindExperiment, ID: string(e.ID), Title: e.Title, Command: r.command(),
		Started: began.UTC().Truncate(time.Second), Seconds: time.Since(began).Seconds(), Build: reports.ThisBuild(), Machine: reports.ThisMachine(),
		Settings: r.settings(), Groups: r.result(r.Seed), Plots: r.plots, Notes: r.notes,
	}
	result.Machine.OthersShare = others.Share()
	if e.Mode != Simulated {
		disk, err := reports.DiskOf(r.Dir)
		if err != nil {
			return nil, fmt.Errorf("experiment %s: %w", e.ID, err)
		}
		disk.Sync, disk.Warm = r.synced, "as each group of figures says"
		result.Disk = &disk
	}
	verdict := e.judge(result)
	result.Verdict = &verdict
	return result, nil
}

// Rejudge is the verdict on a result that was measured before, by the rule as it stands now.
func Rejudge(result *reports.Result) (reports.Verdict, error) {
	e, err := find(ID(result.ID))
	if err != nil {
		return reports.Verdict{}, err
	}
	return e.judge(result), nil
}

func (r *run) command() string {
	command := r.hypothesis.Command()
	if r.Quick {
		command += " --quick"
	}
	if r.Seed != DefaultSeed {
		command += fmt.Sprintf(" --seed %d", r.Seed)
	}
	return command
}

// settings are those that hold for the whole experiment; what differs between arms is in the cells' labels.
func (r *run) settings() []reports.Setting {
	return []reports.Setting{
		{Name: settingForm, Value: either(r, formFull, formQuick)},
		{Name: "seed", Value: fmt.Sprint(r.Seed)},
	}
}

const (
	settingForm = "form"
	formFull    = "full"
	formQuick   = "quick"
)

// IsQuick reports whether a result is that of a quick run.
func IsQuick(r *reports.Result) bool {
	for _, s := range r.Settings {
		if s.Name == settingForm {
			return s.Value == formQuick
		}
	}
	return false
}

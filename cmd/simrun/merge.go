package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"lakebed/trial/campaign"
)

// mergeFlags is what the command line says about a merge.
type mergeFlags struct {
	partial bool
	out     string
	junit   string
	json    bool
}

func (a *app) mergeCommand() *cobra.Command {
	var f mergeFlags
	c := &cobra.Command{
		Use:   "merge FILE…",
		Short: "Add up the shards of a campaign",
		Long: `Add up the files that "simrun campaign --shard i/n --jsonl FILE" has written, one for each shard, and judge the
campaign as a whole. The result is the one that the campaign would have had in one place; only times, and which of many
equal failures ran twice, may differ.

Refused are files of different programs, seeds, mixes or other options, two files of one shard, damaged files and, without
--partial, missing or unfinished shards. With --partial a campaign of which something is missing counts as interrupted.

Exit code 0: all promises held. 1: one did not, or the campaign was weak or blind. 2: these files are not one campaign.
3: something is missing, and --partial accepted it.`,
		Example: `  simrun campaign --shard 1/2 --jsonl 1.jsonl       # on one machine
  simrun campaign --shard 2/2 --jsonl 2.jsonl       # on another one, with the same program
  simrun campaign merge 1.jsonl 2.jsonl             # when both have ended
  simrun campaign merge *.jsonl --junit result.xml  # for a server of continuous integration
  simrun campaign merge 1.jsonl --partial --json    # what there is so far`,
		Args: func(_ *cobra.Command, files []string) error {
			if len(files) == 0 {
				return fmt.Errorf("merge needs the files of a campaign's shards")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, files []string) error { return a.merge(f, files) },
	}
	flags := c.Flags()
	flags.BoolVar(&f.partial, "partial", false, "accept shards that are missing or have not come to their end")
	flags.StringVar(&f.out, "out", campaign.OutDefault, "directory for the files of failures; made when there are any")
	flags.StringVar(&f.junit, "junit", "", "write the result as JUnit XML to this file too")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead of tables")
	return c
}

func (a *app) merge(f mergeFlags, files []string) error {
	if err := errors.Join(checkOutputs(outputFile{"--junit", f.junit, false}), checkDirectory("--out", f.out)); err != nil {
		return err
	}
	summary, failed := campaign.Merge(campaign.MergeOptions{Logs: files, Partial: f.partial, Out: f.out, Catalogue: a.catalogue})
	if summary == nil {
		return failed
	}
	return errors.Join(failed, a.showSummary(summary, f.json, f.junit))
}

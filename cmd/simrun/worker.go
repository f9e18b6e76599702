package main

import (
	"github.com/spf13/cobra"

	"lakebed/trial/campaign"
)

// workerName is the command that a campaign starts its worker processes with.
const workerName = "worker"

func (a *app) workerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    workerName,
		Short:  "Run trials for a campaign",
		Long:   "Read jobs from standard input and answer them on standard output, for the campaign that started this process.",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(*cobra.Command, []string) error { return campaign.ServeProcess(a.catalogue) },
	}
}

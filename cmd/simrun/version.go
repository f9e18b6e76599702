package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lakebed/trial/campaign"
)

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Say which program this is",
		Long: `Print the version of the module, the Go release it was built with and, where the build knew it, the revision of
its sources. Only one and the same program gives one and the same trace.`,
		Example: `  simrun version
  simrun version --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			build := campaign.ThisBuild()
			if asJSON {
				return a.printJSON(build)
			}
			fmt.Fprintf(a.out, "%s %s, %s, %s\n", build.Module, build.Version, build.Go, build.Platform)
			if build.Revision != "" {
				fmt.Fprintf(a.out, "revision %s%s\n", build.Revision, map[bool]string{true: ", with changes"}[build.Modified])
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

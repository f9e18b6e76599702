package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pkg/profile"
	"github.com/spf13/cobra"

	"lakebed/trial/campaign"
)

var profileModes = map[string]func(*profile.Profile){
	"cpu": profile.CPUProfile, "mem": profile.MemProfile, "mutex": profile.MutexProfile, "block": profile.BlockProfile,
}

func (a *app) addProfileFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.profile, "profile", "", "write a profile of this process into the current directory: "+profileNames())
}

func profileNames() string { return strings.Join(slices.Sorted(maps.Keys(profileModes)), ", ") }

// startProfile starts what --profile asks for, and returns what ends it.
func (a *app) startProfile() (stop func(), err error) {
	if a.profile == "" {
		return func() {}, nil
	}
	mode, ok := profileModes[a.profile]
	if !ok {
		return nil, fmt.Errorf("%w: no profile is called %q; there are: %s", campaign.ErrUsage, a.profile, profileNames())
	}
	return profile.Start(mode, profile.ProfilePath("."), profile.NoShutdownHook).Stop, nil
}

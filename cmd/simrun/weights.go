package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// weights is a flag that says how often scenarios run: "cluster=5,bookie=1", and more than once.
type weights map[string]int64

// Set adds to what was said before.
func (w *weights) Set(text string) error {
	for one := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(one, "=")
		weight, err := strconv.ParseInt(value, 10, 64)
		if name == "" || err != nil {
			return fmt.Errorf("%q is not a scenario and its weight, such as cluster=5", one)
		}
		if *w == nil {
			*w = weights{}
		}
		(*w)[name] = weight
	}
	return nil
}

// String is what Set takes: a planted program is given its flags again.
func (w *weights) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(*w)) {
		all = append(all, fmt.Sprintf("%s=%d", name, (*w)[name]))
	}
	return strings.Join(all, ",")
}

// Type is what help calls it.
func (w *weights) Type() string { return "SCENARIO=N" }

package main

import (
	"bytes"
	"testing"
	"time"

	"lakebed/trial/campaign"
)

// TestWithoutATerminalThereIsALineNowAndThen and no control character.
func TestWithoutATerminalThereIsALineNowAndThen(t *testing.T) {
	var out bytes.Buffer
	d := newDisplay(&out)
	for tick := range 120 {
		d.show(campaign.Progress{Seeds: int64(tick), SeedsMax: 600, Violations: 2, Elapsed: time.Duration(tick) * 100 * time.Millisecond})
	}
	d.end()
	if want := "5s  50/600 seeds, 2 violations\n10s  100/600 seeds, 2 violations\n"; out.String() != want {
		t.Errorf("got %q", out.String())
	}
}

// TestProgressByTimeNamesNoBoundOnSeeds.
func TestProgressByTimeNamesNoBoundOnSeeds(t *testing.T) {
	if got := words(campaign.Progress{Seeds: 7, TimeMax: time.Minute}); got != "7 seeds, 0 violations" {
		t.Errorf("got %q", got)
	}
}

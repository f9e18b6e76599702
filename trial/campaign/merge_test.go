package campaign

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// logOf runs a campaign with a log, and returns the log's path.
func logOf(t *testing.T, o Options) string {
	t.Helper()
	o.Log = filepath.Join(t.TempDir(), "log.jsonl")
	conduct(t, o)
	return o.Log
}

// shardsOf runs a campaign in so many shards, and returns their logs.
func shardsOf(t *testing.T, o Options, shards int) []string {
	t.Helper()
	var logs []string
	for i := range shards {
		o.Shard = Shard{i + 1, shards}
		logs = append(logs, logOf(t, o))
	}
	return logs
}

// mixed is a campaign with failures of several kinds, canaries and rare states.
func mixed(seeds int64) Options {
	o := options("", seeds)
	o.Scenarios, o.Weights, o.CanarySeeds = nil, map[string]int64{"bad": 4, "fine": 0}, 9
	return o
}

// TestMergedShardsEqualTheUnshardedCampaign: the same summary and the same cases, however many shards there were and in
// whatever order they are merged.
func TestMergedShardsEqualTheUnshardedCampaign(t *testing.T) {
	for name, o := range map[string]Options{"mixed": mixed(203), "sound": options("good", 300), "few": options("good", 3)} {
		whole := conduct(t, o)
		for _, shards := range []int{1, 2, 3, 20} {
			if shards == 20 && name != "mixed" {
				continue
			}
			logs := shardsOf(t, o, shards)
			slices.Reverse(logs)
			merged, err := Merge(MergeOptions{Logs: logs})
			if err != nil {
				t.Fatal(err)
			}
			a, b := toJSON(t, whole.Timeless()), toJSON(t, merged.Timeless())
			if a != b {
				t.Errorf("%s in %d shards:\n%s\nat once:\n%s", name, shards, b, a)
			}
			if merged.DeterminismChecked < (whole.Seeds+twiceEvery-1)/twiceEvery || merged.CPUSeconds <= 0 || merged.WallSeconds <= 0 {
				t.Errorf("%s in %d shards: %d ran twice, %v CPU s, %v s", name, shards, merged.DeterminismChecked, merged.CPUSeconds, merged.WallSeconds)
			}
		}
	}
}

// TestShardsShareSeedsEvenly: each seed is in one shard, and the seeds that run twice and the canaries are spread over all.
func TestShardsShareSeedsEvenly(t *testing.T) {
	for _, of := range []int{1, 2, 3, 7, 20, 21} {
		const seeds = 8400
		var given int64
		least, most := int64(seeds), int64(0)
		for i := range of {
			h := Header{FirstSeed: 17, Seeds: seeds, Shard: Shard{i + 1, of}}
			var mine, twice int64
			for offset := range uint64(seeds) {
				if h.Shard.has(offset) {
					mine++
					if h.runsTwice(17 + offset) {
						twice++
					}
				}
			}
			if mine != h.Shard.share(seeds) {
				t.Errorf("shard %s: %d seeds, share %d", h.Shard, mine, h.Shard.share(seeds))
			}
			given += mine
			least, most = min(least, twice), max(most, twice)
		}
		if given != seeds || least < int64(seeds/twiceEvery/of/3) || most > int64(2*seeds/twiceEvery/of+5) {
			t.Errorf("%d shards: %d seeds given, from %d to %d run twice", of, given, least, most)
		}
	}
}

// TestAShardIsNotHeldToWhatOnlyAllCanReach, and the merge is.
func TestAShardIsNotHeldToWhatOnlyAllCanReach(t *testing.T) {
	o := options("", 300)
	o.Scenarios, o.CanarySeeds = nil, 3 // seeds 1 to 3 of the canary do not fail
	o.Shard = Shard{2, 2}
	s := conduct(t, o)
	if s.Outcome != Passed || s.CanaryCaught || s.Seeds != 150 || s.Shard != "2/2" || !strings.Contains(s.next(), "merge") {
		t.Errorf("%s, %d seeds, next: %s", s.Outcome, s.Seeds, s.next())
	}
	merged, err := Merge(MergeOptions{Logs: shardsOf(t, o, 2)})
	if err != nil || merged.Outcome != Blind {
		t.Errorf("%v, %+v", err, merged)
	}
}

// TestAMergeRefusesWhatIsNotOneCampaign and says why.
func TestAMergeRefusesWhatIsNotOneCampaign(t *testing.T) {
	o := options("good", 40)
	o.Workers = 0
	two := shardsOf(t, o, 2)
	other := func(change func(*Options)) string {
		changed := o
		changed.Shard = Shard{2, 2}
		change(&changed)
		return logOf(t, changed)
	}
	rebuilt := filepath.Join(t.TempDir(), "rebuilt.jsonl")
	text := must(os.ReadFile(two[1]))
	if err := os.WriteFile(rebuilt, []byte(strings.Replace(string(text), `"program":"`, `"program":"f`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	for reason, logs := range map[string][]string{
		"nothing to merge":           {},
		"no log of shard 2/2":        {two[0]},
		"overlap: both are shard 1/": {two[0], two[1], two[0]},
		"different first seeds":      {two[0], other(func(o *Options) { o.Seed = 2 })},
		"different scenarios":        {two[0], other(func(o *Options) { o.Scenarios = []string{"fine"} })},
		"different weights":          {two[0], other(func(o *Options) { o.Weights = map[string]int64{"good": 2} })},
		"different numbers of seeds": {two[0], other(func(o *Options) { o.Seeds = 41 })},
		"different time limits":      {two[0], other(func(o *Options) { o.Time = time.Hour })},
		"different planted defects":  {two[0], other(func(o *Options) { o.Defect = "x" })},
		"canary trials":              {two[0], other(func(o *Options) { o.CanarySeeds = 1 })},
		"required rare states":       {two[0], other(func(o *Options) { o.Catalogue.RequiredMarks = nil })},
		"different programs":         {two[0], rebuilt},
		"spread in two ways":         {two[0], other(func(o *Options) { o.Shard = Shard{2, 3} })},
		"there is no file":           {two[0], "absent.jsonl"},
	} {
		s, err := Merge(MergeOptions{Logs: logs})
		if !errors.Is(err, ErrUsage) || s != nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v, %+v", reason, err, s)
		}
	}
	s, err := Merge(MergeOptions{Logs: two[1:], Partial: true})
	if err != nil || s.Outcome != Interrupted || s.Seeds != 20 || !strings.Contains(strings.Join(s.Notes, "\n"), "no log of shard 1/2") {
		t.Errorf("in part: %v, %+v", err, s)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestShardsAreWrittenAsWhichOfHowMany.
func TestShardsAreWrittenAsWhichOfHowMany(t *testing.T) {
	if s, err := ParseShard("2/8"); err != nil || s != (Shard{2, 8}) {
		t.Errorf("%v, %v", s, err)
	}
	for _, text := range []string{"", "2", "0/8", "9/8", "1/0", "a/b", "1/2/3", "-1/2", fmt.Sprintf("1/%d", shardsMax+1)} {
		if s, err := ParseShard(text); !errors.Is(err, ErrUsage) {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
}

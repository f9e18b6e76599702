package campaign

import (
	"fmt"
	"strconv"
	"strings"
)

// Shard is one of the equal parts of a campaign: part Index, counted from 1, of Of. It has the seeds whose distance from
// the first one leaves Index-1 when divided by Of, so that all shards of a campaign with a time limit get the same share
// of each scenario, and each begins with the lowest seeds.
type Shard struct {
	Index int `json:"index"`
	Of    int `json:"of"`
}

// wholeCampaign is the only shard of a campaign that is not spread.
var wholeCampaign = Shard{1, 1}

// ParseShard reads "2/8".
func ParseShard(text string) (Shard, error) {
	index, of, found := strings.Cut(text, "/")
	i, err := strconv.Atoi(index)
	n, errOf := strconv.Atoi(of)
	if !found || err != nil || errOf != nil {
		return Shard{}, fmt.Errorf("%w: a shard is which of how many, such as 2/8, not %q", ErrUsage, text)
	}
	s := Shard{i, n}
	return s, s.check()
}

func (s Shard) check() error {
	switch {
	case s.Of < 1 || s.Of > shardsMax:
		return fmt.Errorf("%w: shard %s: a campaign is spread over 1 to %d shards", ErrUsage, s, shardsMax)
	case s.Index < 1 || s.Index > s.Of:
		return fmt.Errorf("%w: shard %s: they are counted from 1 to %d", ErrUsage, s, s.Of)
	}
	return nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// whole reports whether the campaign is not spread at all.
func (s Shard) whole() bool { return s.Of == 1 }

// has reports whether the shard runs the seed that is so far from the first one.
func (s Shard) has(offset uint64) bool { return offset%uint64(s.Of) == uint64(s.Index-1) }

// share is how many of the first so many seeds are the shard's.
func (s Shard) share(seeds int64) int64 {
	return (seeds + int64(s.Of) - int64(s.Index)) / int64(s.Of)
}

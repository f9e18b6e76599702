package oracle

import (
	"math/rand/v2"
	"time"

	"lakebed/engine/bookkeeper/metadata/memory"
	"lakebed/engine/host"
)

// The freedoms, as marks on the oracle's node. A is the session.
const (
	StaleRead   host.Point = "oracle.stale-read"   // B: by how many changes
	LostAnswer  host.Point = "oracle.lost-answer"  // of a write that was done
	LostRequest host.Point = "oracle.lost-request" // a write was not done, and nobody was told
	LateWrite   host.Point = "oracle.late-write"   // a write was done after its client was cut
	Expired     host.Point = "oracle.expired"      // a session ended although its client talked
	Coalesced   host.Point = "oracle.coalesced"    // a change was told together with another
	LateNotice  host.Point = "oracle.late-notice"  // B: milliseconds
	Slow        host.Point = "oracle.slow"         // B: milliseconds
	Outage      host.Point = "oracle.outage"       // B: milliseconds
)

// Points lists the freedoms.
func Points() []host.Point {
	return []host.Point{StaleRead, LostAnswer, LostRequest, LateWrite, Expired, Coalesced, LateNotice, Slow, Outage}
}

// Config says how often the oracle uses which freedom. Rates are in a thousand; zero: never.
type Config struct {
	StalePermille       int // of reads that would be answered from the newest state
	StaleMax            time.Duration
	NoticePermille      int // of watches that are told late
	NoticeMax           time.Duration
	LostAnswerPermille  int // of writes
	LostRequestPermille int // of writes
	LateWritePermille   int // of writes
	LateWriteMax        time.Duration
	ExpirePermille      int // of requests, pings included
	SlowPermille        int // of requests
	SlowMax             time.Duration
	OutagePermille      int // of requests
	OutageMax           time.Duration

	SessionTimeoutMin time.Duration
	SessionTimeoutMax time.Duration
	Limits            memory.Limits
	ConnectionsMax    int
}

// Tame uses no freedom.
func Tame() Config {
	limits := memory.DefaultLimits()
	limits.HistoryChanges, limits.HistoryBytesMax = 512, 8<<20
	return Config{
		StaleMax: 5 * time.Second, NoticeMax: 3 * time.Second, LateWriteMax: 5 * time.Second, SlowMax: 500 * time.Millisecond,
		OutageMax: 8 * time.Second, SessionTimeoutMin: time.Second, SessionTimeoutMax: time.Minute,
		Limits: limits, ConnectionsMax: 256,
	}
}

// Draw draws how hostile the oracle of one trial is. Each freedom is absent in some trials, since a failure may need that
// others do not get in its way.
func Draw(r *rand.Rand) Config {
	c := Tame()
	for _, rate := range []struct {
		permille *int
		most     int
	}{
		{&c.StalePermille, 600}, {&c.NoticePermille, 500}, {&c.LostAnswerPermille, 60}, {&c.LostRequestPermille, 30},
		{&c.LateWritePermille, 40}, {&c.ExpirePermille, 10}, {&c.SlowPermille, 50}, {&c.OutagePermille, 3},
	} {
		if n := 1 + r.IntN(rate.most); r.IntN(3) > 0 {
			*rate.permille = n
		}
	}
	for _, most := range []*time.Duration{&c.StaleMax, &c.NoticeMax, &c.LateWriteMax, &c.SlowMax, &c.OutageMax} {
		*most = *most/10 + time.Duration(r.Int64N(int64(*most)))
	}
	return c
}

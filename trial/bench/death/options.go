package death

import (
	"fmt"
	"io"
	"time"

	"lakebed/engine/bookkeeper/ledger"
)

// Defaults of a run.
const (
	RoundsDefault   = 50
	BookiesDefault  = 4 // one more than an ensemble, so that a dead one can be replaced
	InFlightDefault = 200
)

// Bounds of a round.
const (
	loadMin     = 50 * time.Millisecond // between the first acknowledgement and the kill
	loadMax     = 400 * time.Millisecond
	deadMax     = 200 * time.Millisecond // between the kill and the restart
	roundMax    = 2 * time.Minute        // a round that takes longer is stuck
	writerMax   = 30 * time.Second       // that a writer may take to notice that it was shut out
	recoverMax  = time.Minute            // until a ledger has been recovered, and read
	retryPause  = 50 * time.Millisecond
	roundsMax   = 100_000
	inFlightMax = 10_000
)

// LedgerQuorum is that of every ledger: three copies on three bookies, acknowledged when two have them.
func LedgerQuorum() ledger.Quorum { return ledger.Quorum{Ensemble: 3, Write: 3, Ack: 2} }

// Options say what to do.
type Options struct {
	Executable string // simrun; empty: this program
	Dir        string // for what bookies keep, and the logs of acknowledgements
	Rounds     int
	Seed       uint64
	Bookies    int
	InFlight   int       // entries that the writer has appended and not seen acknowledged
	Env        []string  // of the bookies: how a planted bug is chosen
	Stderr     io.Writer // of all processes; nil: only the end of it, in errors
	Watch      func(Round)
}

func (o *Options) complete() error {
	if o.Bookies == 0 {
		o.Bookies = BookiesDefault
	}
	if o.InFlight == 0 {
		o.InFlight = InFlightDefault
	}
	switch {
	case o.Rounds < 1 || o.Rounds > roundsMax:
		return fmt.Errorf("%d rounds: must be 1 to %d", o.Rounds, roundsMax)
	case o.Bookies < LedgerQuorum().Ensemble:
		return fmt.Errorf("%d bookies: a ledger needs %d", o.Bookies, LedgerQuorum().Ensemble)
	case o.InFlight < 1 || o.InFlight > inFlightMax:
		return fmt.Errorf("%d entries in flight: must be 1 to %d", o.InFlight, inFlightMax)
	case o.Dir == "":
		return fmt.Errorf("no directory")
	}
	if o.Watch == nil {
		o.Watch = func(Round) {}
	}
	return nil
}

// bookieSettings make bookies start fast, and have their journals rolled and trimmed and their caches flushed many times
// in a run, so that kills meet all of that.
func bookieSettings() map[string]string {
	return map[string]string{
		"journalMaxSizeMB": "16", "dbStorage_writeCacheMaxSizeMb": "16", "flushInterval": "300", "logSizeLimit": "67108864",
	}
}

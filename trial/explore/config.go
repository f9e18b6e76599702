package explore

import (
	"fmt"
	"strconv"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
)

// The most that a world may have. Its states hold arrays of these sizes.
const (
	BookiesMax = 6 // of a world
	entriesMax = 3
	clientsMax = 3
	budgetMax  = 100 // of each kind of thing that may go wrong
)

// Config is a world and how much may go wrong in it.
type Config struct {
	Bookies    int
	Quorum     ledger.Quorum
	Entries    int  // that the writer appends, all at once
	Recoveries int  // clients that may recover the ledger at any time
	Close      bool // the writer may close at any time
	// Held, if not nil, is the bookies that have each entry at the beginning, all appended at once. The writer is dead
	// then, and had acknowledged what it could.
	Held [][]int

	Timeouts    int // requests to bookies that their client gives up on
	LostAnswers int // conditional writes whose client never learns the outcome
	StaleReads  int // reads of metadata that return an older state
	Restarts    int // of bookies; afterwards they answer "unknown" for what they lack

	Writer   protocol.WriterOptions
	Recovery protocol.RecoveryOptions

	// StatesMax stops the search. 0: no bound.
	StatesMax int
	// Watch, if not nil, is told every watchSteps steps what there is so far; false stops the search.
	Watch func(Result) bool
	// Only looks for violations of one rule, by its name. Empty: of all.
	Only string
}

// Validate reports what cannot be searched.
func (c Config) Validate() error {
	if err := c.Quorum.Validate(); err != nil {
		return err
	}
	switch {
	case c.Bookies < c.Quorum.Ensemble || c.Bookies > BookiesMax:
		return fmt.Errorf("%d bookies: must be %d to %d", c.Bookies, c.Quorum.Ensemble, BookiesMax)
	case c.Entries < 1 || c.Entries > entriesMax:
		return fmt.Errorf("%d entries: must be 1 to %d", c.Entries, entriesMax)
	case c.Held != nil && len(c.Held) != c.Entries:
		return fmt.Errorf("holders of %d entries are given, and there are %d", len(c.Held), c.Entries)
	case c.Recoveries < 0 || c.Recoveries >= clientsMax:
		return fmt.Errorf("%d recoveries: must be 0 to %d", c.Recoveries, clientsMax-1)
	case min(c.Timeouts, c.LostAnswers, c.StaleReads, c.Restarts) < 0 || max(c.Timeouts, c.LostAnswers, c.StaleReads, c.Restarts) > budgetMax:
		return fmt.Errorf("timeouts, lost answers, stale reads and restarts must be 0 to %d", budgetMax)
	}
	for e, bookies := range c.Held {
		for _, b := range bookies {
			if b < 0 || b >= c.Bookies {
				return fmt.Errorf("entry %d lies on bookie %d, and there are %d, the first of which is 0", e, b, c.Bookies)
			}
		}
	}
	return nil
}

func (c Config) String() string {
	return fmt.Sprintf("%d bookies, %d/%d/%d, entries %d, recoveries %d, close %v, timeouts %d, lost answers %d, stale reads %d, restarts %d",
		c.Bookies, c.Quorum.Ensemble, c.Quorum.Write, c.Quorum.Ack, c.Entries, c.Recoveries, c.Close,
		c.Timeouts, c.LostAnswers, c.StaleReads, c.Restarts)
}

func bookieID(i int) ledger.BookieID { return ledger.BookieID("b" + strconv.Itoa(i)) }

func bookieOf(id ledger.BookieID) int {
	i, err := strconv.Atoi(string(id[1:]))
	if err != nil {
		panic("bookies of this world are called b and a number: " + string(id))
	}
	return i
}

package trial

import (
	"fmt"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
)

// Cluster makes a scenario one of many nodes: a metadata store, an ensemble of bookies with some to spare, and clients
// on nodes of their own.
type Cluster struct {
	Shapes    []string `toml:"shapes"`     // "5/3/2": ensemble, write quorum, ack quorum; each seed draws one
	SparesMax int      `toml:"spares_max"` // bookies beyond the ensemble; there is one at least
	Sessions  int      `toml:"sessions"`   // sequential ones in each client; some seeds draw more
	Ledgers   int      `toml:"ledgers"`    // that a trial creates, about
	Entries   int      `toml:"entries"`    // of a ledger, at most
	Fragile   bool     `toml:"fragile"`    // up to Qa-1 bookies may lose media: what was acknowledged survives
	// PerEntry: beyond the fragile ones, any bookie may lose entries of its closed logs, as long as no entry loses more than
	// Qa-1 copies.
	PerEntry bool `toml:"per_entry"`
	// ForgedCookies: the disks of a bookie that was wiped get its cookie back, so that it starts as if nothing were missing.
	ForgedCookies bool `toml:"forged_cookies"`
	// BlackoutOneIn is how many seeds share one in which most bookies lose power at the same moment. Zero: none.
	BlackoutOneIn int `toml:"blackout_one_in"`
	AimedPercent  int `toml:"aimed_percent"` // how many faults of a hundred strike at the moments of clusterAims

	// The wrong settings of a canary.
	UnfencedRecovery  bool `toml:"unfenced_recovery"`   // recovery reads do not fence (bookkeeper#2614)
	AckBeforeMetadata bool `toml:"ack_before_metadata"` // entries on new bookies count too early (bookkeeper#1591)
	// LACRule is one source's rule of sorted watermarks, in one of its readings: "contiguous" or "highest". Empty: none.
	LACRule string `toml:"lac_rule"`

	Work SessionWork `toml:"work"`
}

// SessionWork is what sessions do, by weight.
type SessionWork struct {
	Write    int `toml:"write"`
	Tail     int `toml:"tail"`
	CatchUp  int `toml:"catch_up"`
	TakeOver int `toml:"take_over"`
	Delete   int `toml:"delete"`
	Foreign  int `toml:"foreign"` // writes without the client, past the ids that fit 32 bits
}

func (s *Scenario) checkCluster() error {
	c := s.Cluster
	if len(c.Shapes) == 0 {
		return fmt.Errorf("scenario %s: a cluster has at least one shape", s.Name)
	}
	if _, known := lacRules[c.LACRule]; !known {
		return fmt.Errorf("scenario %s: lac_rule %q is neither contiguous nor highest", s.Name, c.LACRule)
	}
	for _, text := range c.Shapes {
		if _, err := parseQuorum(text); err != nil {
			return fmt.Errorf("scenario %s: %w", s.Name, err)
		}
	}
	w := c.Work
	switch {
	case c.SparesMax < 1 || c.Sessions < 1 || c.Sessions+crowdSessions >= sessionsMax || c.Ledgers < 1 || c.Entries < 1:
		return fmt.Errorf("scenario %s: spares_max, sessions, ledgers and entries of a cluster must be positive, sessions below %d", s.Name, sessionsMax-crowdSessions)
	case min(w.Tail, w.CatchUp, w.TakeOver, w.Delete, w.Foreign, c.BlackoutOneIn) < 0 || w.Write < 1:
		return fmt.Errorf("scenario %s: no number may be negative, and somebody must write", s.Name)
	case c.AimedPercent < 0 || c.AimedPercent > 100:
		return fmt.Errorf("scenario %s: aimed_percent %d is no share of a hundred", s.Name, c.AimedPercent)
	case c.PerEntry && !c.Fragile:
		return fmt.Errorf("scenario %s: per_entry adds to what fragile allows", s.Name)
	case c.ForgedCookies && !s.Lifted:
		return fmt.Errorf("scenario %s: forged_cookies breaks promises, so the scenario must be lifted", s.Name)
	case s.Damage || s.Doubt || s.Remote > 0 || s.Work != (Work{}):
		return fmt.Errorf("scenario %s: damage, doubt, remote_clients and work are those of a single bookie", s.Name)
	}
	return nil
}

// lacRules are the rules that a scenario can name.
var lacRules = map[string]protocol.LACRule{
	"": protocol.InOrder, "contiguous": protocol.ContiguousWatermarks, "highest": protocol.HighestWatermarks,
}

// parseQuorum reads "5/3/2".
func parseQuorum(text string) (ledger.Quorum, error) {
	var q ledger.Quorum
	if n, err := fmt.Sscanf(text, "%d/%d/%d", &q.Ensemble, &q.Write, &q.Ack); n != 3 || err != nil || quorumText(q) != text {
		return q, fmt.Errorf("shape %q is not of the form 5/3/2", text)
	}
	return q, q.Validate()
}

func quorumText(q ledger.Quorum) string { return fmt.Sprintf("%d/%d/%d", q.Ensemble, q.Write, q.Ack) }

package sameness

import (
	"math/rand/v2"
	"slices"

	"lakebed/engine/bookkeeper/ledger"
)

// Bounds on scripts that are drawn.
const (
	drawnSteps = 40
	drawnTries = 400 // steps that are offered; those that are not allowed are left out
)

// Draw makes a script by adding steps at random, as long as each is allowed. Whether bookies are killed in it does not
// shift what else is drawn.
func Draw(seed uint64, kills bool) Script {
	random := rand.New(rand.NewPCG(seed, 75))
	s := Script{Seed: seed, Bookies: 5 + random.IntN(3)}
	quorums := []ledger.Quorum{
		{Ensemble: 3, Write: 3, Ack: 3}, {Ensemble: 3, Write: 3, Ack: 2}, {Ensemble: 4, Write: 2, Ack: 2}, {Ensemble: 2, Write: 2, Ack: 2},
	}
	verbs := []Verb{Create, Append, Append, Append, Close, Abandon, Recover, TakeOver, Delete, Kill, Kill, Restart}
	for range drawnTries {
		if len(s.Steps) == drawnSteps {
			break
		}
		least := random.IntN(100)
		step := Step{
			Verb: verbs[random.IntN(len(verbs))], Ledger: Name('a' + rune(random.IntN(5))),
			Quorum: quorums[random.IntN(len(quorums))], Digest: ledger.CRC32C,
			Entries: 1 + random.IntN(60), BytesMin: least, BytesMax: least + random.IntN(300), Index: random.IntN(3),
		}
		if step.Verb == Kill && !kills {
			continue // and so nothing is down that could be restarted
		}
		longer := s
		longer.Steps = append(slices.Clone(s.Steps), step)
		if longer.Validate() == nil {
			s = longer
		}
	}
	return s
}

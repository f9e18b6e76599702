package sameness

import (
	"math/rand/v2"
	"slices"

	"lakebed/engine/bookkeeper/ledger"
)

// Bounds on scripts that are drawn.
const (
	drawnSteps = 60
	drawnTries = 400 // steps that are offered; those that are not allowed are left out

	drawnLedgers = 8
)

// deletesOneIn is how many draws of a delete it takes for one to be offered: of a deleted ledger nothing is left to compare.
const deletesOneIn = 8

// Draw makes a script by adding steps at random, as long as each is allowed, and ends what nobody has ended. Without kills no
// bookie goes.
func Draw(seed uint64, kills bool) Script {
	random := rand.New(rand.NewPCG(seed, 75))
	s := Script{Seed: seed, Bookies: 5 + random.IntN(3)}
	quorums := []ledger.Quorum{
		{Ensemble: 3, Write: 3, Ack: 3}, {Ensemble: 3, Write: 3, Ack: 2}, {Ensemble: 4, Write: 2, Ack: 2}, {Ensemble: 2, Write: 2, Ack: 2},
	}
	// Ends are rare: a ledger that ends before its first entry compares nothing.
	verbs := []Verb{
		Create, Create, Append, Append, Append, Append, Append, Append, Append, Append, Append, Append,
		Close, Abandon, Recover, Recover, TakeOver, Delete, Kill, Kill, Restart,
	}
	for range drawnTries {
		if len(s.Steps) == drawnSteps {
			break
		}
		least := random.IntN(100)
		step := Step{
			Verb: verbs[random.IntN(len(verbs))], Ledger: Name('a' + rune(random.IntN(drawnLedgers))),
			Quorum: quorums[random.IntN(len(quorums))], Digest: ledger.CRC32C,
			Entries: 1 + random.IntN(60), BytesMin: least, BytesMax: least + random.IntN(300), Index: random.IntN(3),
		}
		if step.Verb == Kill && !kills || step.Verb == Delete && random.IntN(deletesOneIn) > 0 {
			continue
		}
		s.offer(step)
	}
	s.finish()
	return s
}

// offer adds a step, if it is allowed.
func (s *Script) offer(step Step) {
	longer := *s
	longer.Steps = append(slices.Clone(s.Steps), step)
	if longer.Validate() == nil {
		*s = longer
	}
}

// finish closes or recovers what is open, so that it can be compared.
func (s *Script) finish() {
	s.offer(Step{Verb: Restart})
	for i := range drawnLedgers {
		name := Name('a' + rune(i))
		s.offer(Step{Verb: Close, Ledger: name})
		s.offer(Step{Verb: Recover, Ledger: name})
	}
}

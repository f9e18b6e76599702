package death

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"lakebed/trial/bench/processes"
)

// clockName says on which clock the figures were taken.
const clockName = "wall"

// Run starts a cluster and kills in it, round after round. The error says that this machine did not let it; what was
// found by then is in the report, which is never nil. An interrupt by ctx is no error: the report then holds the rounds that
// were finished, and says so.
func Run(ctx context.Context, o Options) (*Report, error) {
	report := &Report{Seed: o.Seed, Clock: clockName, Findings: []Finding{}}
	if err := o.complete(); err != nil {
		return report, err
	}
	q := LedgerQuorum()
	report.Bookies, report.InFlight, report.Planned = o.Bookies, o.InFlight, o.Rounds
	report.Quorum = fmt.Sprintf("%d/%d/%d", q.Ensemble, q.Write, q.Ack)
	if o.Executable == "" {
		path, err := os.Executable()
		if err != nil {
			return report, fmt.Errorf("find this program: %w", err)
		}
		o.Executable = path
	}
	begun := time.Now()
	defer func() { report.Took = time.Since(begun) }()
	cluster, err := processes.Start(ctx, processes.Options{
		Executable: o.Executable, Dir: o.Dir, Bookies: o.Bookies, Settings: bookieSettings(), Env: o.Env, Stderr: o.Stderr,
	})
	if err == nil {
		err = errors.Join(report.rounds(ctx, &o, cluster), cluster.Close())
	}
	if ctx.Err() != nil {
		report.Interrupted = true
		return report, nil // what failed was stopped
	}
	return report, err
}

func (r *Report) rounds(ctx context.Context, o *Options, cluster *processes.Cluster) error {
	kinds := kinds()
	for n := range o.Rounds {
		one := round{
			o: o, cluster: cluster, kind: kinds[n%len(kinds)], random: rand.New(rand.NewPCG(o.Seed, uint64(n))),
			result: Round{Number: n + 1, Kind: kinds[n%len(kinds)].Name, Bookies: []int{}},
		}
		err := one.run(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			one.result.add(Finding{What: NotBack, Ledger: one.result.Ledger, Detail: err.Error()})
		}
		r.take(one.result)
		o.Watch(one.result)
		if err != nil {
			return nil // the cluster is in no state for another round, and that is the finding
		}
	}
	return r.lastLook(ctx, o, cluster)
}

// lastLook stops and starts all bookies, and reads every ledger again.
func (r *Report) lastLook(ctx context.Context, o *Options, cluster *processes.Cluster) error {
	var all []int
	for i := range cluster.Bookies() {
		all = append(all, i)
		err := cluster.Stop(i)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.Findings = append(r.Findings, Finding{What: NotBack, Round: len(r.Rounds), Detail: err.Error()})
		}
	}
	err := cluster.Restart(ctx, all...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.Findings = append(r.Findings, Finding{What: NotBack, Round: len(r.Rounds), Detail: err.Error()})
		return nil
	}
	for i := range r.Rounds {
		one := &r.Rounds[i]
		if one.Read == 0 {
			continue // it could not be recovered, which was told
		}
		found, err := look(ctx, cluster.MetadataAddress(), o.Seed, one.Ledger, one.Acked-1)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			found.add(Finding{What: Lost, Ledger: one.Ledger, Last: one.Acked - 1, Detail: err.Error()})
		}
		if err == nil && found.end.last+1 != one.Length {
			found.add(Finding{What: EndMoved, Ledger: one.Ledger, First: one.Length - 1, Last: found.end.last, Detail: "at the last look"})
		}
		r.Again += found.read
		r.Further += found.passed
		for _, f := range found.wrong {
			if !one.knows(f) {
				f.Round = one.Number
				r.Findings = append(r.Findings, f)
			}
		}
	}
	return nil
}

// knows says whether a finding was made in the round itself.
func (r *Round) knows(f Finding) bool {
	for _, known := range r.Findings {
		if known.What == f.What && known.Ledger == f.Ledger && known.First == f.First {
			return true
		}
	}
	return false
}

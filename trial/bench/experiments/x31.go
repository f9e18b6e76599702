package experiments

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"lakebed/trial/bench/stores"
)

// the sync policy decides the latency of a store.

const (
	policyAppenders = 64
	policyPayload   = 1 << 10
	policyRounds    = 8
)

func policyCell(kind stores.Kind, policy stores.Policy) string {
	return fmt.Sprintf("policy/%s/%s", kind, policy)
}

func measurePolicies(ctx context.Context, r *run) error {
	for _, kind := range stores.Kinds() {
		if err := r.inScratch(ctx, func(ctx context.Context, dir string) error { return r.policies(ctx, dir, kind) }); err != nil {
			return err
		}
		r.say("%s with all sync policies", kind)
	}
	return measureLosses(ctx, r)
}

// policies measures one store with each sync policy, in turns.
func (r *run) policies(ctx context.Context, dir string, kind stores.Kind) (err error) {
	var rigs []*stores.Rig
	defer func() {
		for _, rig := range rigs {
			err = errors.Join(err, rig.Close())
		}
	}()
	for _, policy := range stores.Policies() {
		rig, err := stores.OpenWith(filepath.Join(dir, policy.String()), kind, policy, 1, r.Seed)
		if err != nil {
			return err
		}
		rigs = append(rigs, rig)
	}
	for n := range either(r, policyRounds+1, 2) {
		for _, rig := range rigs {
			round, err := rig.Append(ctx, policyAppenders, policyPayload, either(r, time.Second, 50*time.Millisecond), 256<<20)
			if err != nil {
				return err
			}
			if n > 0 {
				r.group("Appends by sync mode", "64 appenders of 1 KiB to one partition, in a closed loop. group-2ms: a group waits for 2 ms after its first append, or until it holds 512 KiB.").
					cell(policyCell(kind, rig.Policy), "store", string(kind), "sync", rig.Policy.String()).appends(&round)
			}
		}
	}
	return nil
}

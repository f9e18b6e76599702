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

func policyCell(kind stores.Kind, mode stores.Mode) string {
	return fmt.Sprintf("policy/%s/%s", kind, mode)
}

func measurePolicies(ctx context.Context, r *run) error {
	for _, kind := range stores.Kinds() {
		if err := r.inScratch(ctx, func(ctx context.Context, dir string) error { return r.policies(ctx, dir, kind) }); err != nil {
			return err
		}
		r.say("%s in all modes", kind)
	}
	return measureLosses(ctx, r)
}

// policies measures one store in each mode, in turns.
func (r *run) policies(ctx context.Context, dir string, kind stores.Kind) (err error) {
	var rigs []*stores.Rig
	defer func() {
		for _, rig := range rigs {
			err = errors.Join(err, rig.Close())
		}
	}()
	for _, mode := range stores.Modes() {
		rig, err := stores.Open(filepath.Join(dir, string(mode)), kind, mode, 1, r.Seed)
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
				r.group("Appends by sync mode", "64 appenders of 1 KiB to one partition, in a closed loop.").
					cell(policyCell(kind, rig.Mode), "store", string(kind), "sync", string(rig.Mode)).appends(&round)
			}
		}
	}
	return nil
}

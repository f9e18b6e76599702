package campaign

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Shrinker makes the failure in the file of a case smaller: it writes a case that fails in the same way with less, and
// returns its file. It returns when ctx ends, with the smallest that it has found until then.
type Shrinker func(ctx context.Context, caseFile string) (smaller string, err error)

// shrink has the shortest trial of each group made smaller while the budget lasts, the gravest group first. What two
// runs do not agree on, and what gives no answer, cannot be shrunk.
func (s *Summary) shrink(ctx context.Context, shrinker Shrinker, budget time.Duration) error {
	if shrinker == nil || budget == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	var failed error
	for i := range s.Failures {
		g := &s.Failures[i]
		if g.File == "" || g.shortest.noAnswer() || ctx.Err() != nil {
			continue
		}
		smaller, err := shrinker(ctx, g.File)
		if err != nil && ctx.Err() == nil {
			failed = errors.Join(failed, fmt.Errorf("%w: shrink %s: %w", ErrEnvironment, g.File, err))
		}
		g.Smaller = smaller
	}
	return failed
}

// noAnswer reports whether the trial has no plan of its own that could be made smaller.
func (f *failure) noAnswer() bool {
	return f.kind == Hang || f.kind == Died || f.kind == Nondeterminism
}

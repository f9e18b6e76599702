package experiments

import "context"

// planted bugs are each caught.

// quickDefects are some of each sort that a few trials show.
func quickDefects() []string { return []string{"no-sync", "batch-past-lac", "two-handles"} }

func measureMutations(ctx context.Context, r *run) error {
	var ids []string // the whole catalogue
	if r.Quick {
		ids = quickDefects()
	}
	return r.detect(ctx, groupCatalogue, ids, either(r, mutationHunts, 1), either(r, 120.0, 20))
}

const groupCatalogue = "The catalogue of planted bugs"

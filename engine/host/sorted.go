package host

import (
	"cmp"
	"slices"
)

// SortedKeys returns the keys of m in ascending order. Map iteration order is random, so this is the only way the
// engine walks a map; hot paths keep their own ordered structure instead.
func SortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

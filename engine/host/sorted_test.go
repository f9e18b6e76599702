package host_test

import (
	"fmt"
	"testing"

	"lakebed/engine/host"
)

// TestSortedKeysAreAllTheKeysInOrder, often enough for a random order to show.
func TestSortedKeysAreAllTheKeysInOrder(t *testing.T) {
	m := map[string]int{"b": 1, "": 2, "a": 3, "ab": 4, "B": 5}
	for range 20 {
		if got := fmt.Sprintf("%q", host.SortedKeys(m)); got != `["" "B" "a" "ab" "b"]` {
			t.Fatalf("got %s", got)
		}
	}
	if got := host.SortedKeys(map[int64]bool{5: true, -3: true, 0: false}); fmt.Sprint(got) != "[-3 0 5]" {
		t.Errorf("got %v", got)
	}
	if got := host.SortedKeys(map[int]int(nil)); len(got) != 0 {
		t.Errorf("got %v for no map", got)
	}
}

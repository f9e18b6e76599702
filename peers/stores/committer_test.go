package stores

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestAGroupIsWrittenOnceAndWholly: many tasks append at once; each payload is written exactly once, no group is longer than
// the bound, no two are written at a time, and an error reaches those whose group failed and nobody else.
func TestAGroupIsWrittenOnceAndWholly(t *testing.T) {
	const tasks, each = 2 * groupMax, 20
	failure := errors.New("the disk is gone")
	var busy sync.Mutex
	written, failed := map[string]bool{}, map[string]bool{}
	var longest, groups int
	var entered atomic.Int64
	c := committer{write: func(entries [][]byte) error {
		if groups == 0 { // all others come while the first group is written
			for entered.Load() < tasks {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(50 * time.Millisecond)
		}
		if !busy.TryLock() {
			t.Error("two groups are written at once")
			return nil
		}
		defer busy.Unlock()
		groups++
		longest = max(longest, len(entries))
		bad := slices.ContainsFunc(entries, func(e []byte) bool { return string(e) == "task 7, 3" })
		for _, e := range entries {
			if written[string(e)] || failed[string(e)] {
				t.Errorf("%s is written twice", e)
			}
			if bad {
				failed[string(e)] = true
			} else {
				written[string(e)] = true
			}
		}
		if bad {
			return failure
		}
		return nil
	}}
	var all sync.WaitGroup
	var mutex sync.Mutex
	told := map[string]bool{}
	for task := range tasks {
		all.Go(func() {
			entered.Add(1)
			for n := range each {
				payload := fmt.Sprintf("task %d, %d", task, n)
				if err := c.append([]byte(payload)); err != nil {
					mutex.Lock()
					told[payload] = true
					mutex.Unlock()
				}
			}
		})
	}
	all.Wait()
	if len(written)+len(failed) != tasks*each || len(told) != len(failed) || !told["task 7, 3"] {
		t.Errorf("%d written, %d failed, %d of %d told so", len(written), len(failed), len(told), tasks*each)
	}
	for payload := range told {
		if !failed[payload] {
			t.Errorf("%s was written, and its appender was told that it failed", payload)
		}
	}
	if longest > groupMax || longest < groupMax/2 {
		t.Errorf("the longest of %d groups has %d payloads, and there came twice %d at once", groups, longest, groupMax)
	}
}

// TestALoneAppenderPaysNothing: an append that meets nobody costs no memory, so that the libraries are not charged for our harness.
func TestALoneAppenderPaysNothing(t *testing.T) {
	var written int
	c := committer{write: func(entries [][]byte) error { written += len(entries); return nil }}
	payload := []byte("alone")
	allocations := testing.AllocsPerRun(100, func() {
		if err := c.append(payload); err != nil {
			t.Fatal(err)
		}
	})
	if allocations != 0 || written != 101 {
		t.Errorf("%v allocations an append, %d of 101 written", allocations, written)
	}
}

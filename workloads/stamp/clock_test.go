package stamp

import (
	"testing"
	"time"
)

// TestStampsRiseAndHaveTheirTimes: from one on, without a gap; a stamp has the time at which it was given if somebody
// watches, and others have none.
func TestStampsRiseAndHaveTheirTimes(t *testing.T) {
	var now time.Duration
	var watched, alone Clock
	watched.Watch(func() time.Duration { return now })
	for i := 1; i <= 5; i++ {
		now += time.Duration(i)
		if s := watched.Next(); int(s) != i || watched.Last() != s || alone.Next() != s {
			t.Fatalf("stamp %d is %d", i, s)
		}
	}
	if at, ok := watched.Time(3); !ok || at != 1+2+3 {
		t.Errorf("the third was given at %d, %v", at, ok)
	}
	_, before := watched.Time(0)
	_, after := watched.Time(6)
	_, unwatched := alone.Time(3)
	if before || after || unwatched {
		t.Errorf("times of stamps that have none: %v %v %v", before, after, unwatched)
	}
}

package readahead_test

import (
	"math/rand/v2"
	"testing"

	"lakebed/engine/commitlog/readahead"
	"lakebed/engine/host"
)

const logEnd = 10 << 20

func read(w *readahead.Window, off, n int64) readahead.Step {
	return w.Read(host.Span{Off: off, Len: n}, true, logEnd)
}

// TestWhoReadsOnIsServedFromWhatWasFetched: after the first read all are hits, the window doubles up to its bound, and every
// byte is fetched once (R4-28, R4-30, R4-32).
func TestWhoReadsOnIsServedFromWhatWasFetched(t *testing.T) {
	w := readahead.Window{Config: readahead.Config{Min: 8 << 10, Max: 64 << 10}}
	fetched, longest := int64(0), int64(0)
	next := int64(0)
	for off := int64(0); off < logEnd; off += 1000 {
		step := read(&w, off, min(1000, logEnd-off))
		if step.Hit != (off > 0) || step.Wasted != 0 {
			t.Fatalf("read at %d: %+v", off, step)
		}
		if step.Fetch.Len > 0 {
			if next > 0 && step.Fetch.Off != next {
				t.Fatalf("fetch %+v does not go on at %d", step.Fetch, next)
			}
			next = step.Fetch.Off + step.Fetch.Len
			fetched += step.Fetch.Len
			longest = max(longest, next-off)
			if next%readahead.PageBytes != 0 && next != logEnd {
				t.Fatalf("fetch %+v does not end at a page", step.Fetch)
			}
		}
	}
	if fetched != logEnd-1000 || longest < 60<<10 || longest > 64<<10+1000+readahead.PageBytes {
		t.Errorf("%d bytes were fetched of %d, at most %d ahead", fetched, logEnd, longest)
	}
}

// TestWhoJumpsGetsTheSmallestWindow, and what was fetched for him in vain is counted.
func TestWhoJumpsGetsTheSmallestWindow(t *testing.T) {
	w := readahead.Window{Config: readahead.Config{Min: 4 << 10, Max: 1 << 20}}
	r := rand.New(rand.NewPCG(1, 2))
	fetched, wasted, hits := int64(0), int64(0), 0
	for range 1000 {
		step := w.Read(host.Span{Off: r.Int64N(logEnd - 1000), Len: 1000}, false, logEnd)
		if step.Fetch.Len > 8<<10+2*readahead.PageBytes {
			t.Fatalf("fetch %+v for one who jumps", step.Fetch)
		}
		if step.Hit {
			hits++
		}
		fetched += step.Fetch.Len
		wasted += step.Wasted
	}
	if hits > 20 || wasted+w.Unread() < fetched*9/10 {
		t.Errorf("%d hits; of %d bytes %d are known to be wasted", hits, fetched, wasted)
	}
}

// TestGapsThatAReaderLeavesOutAreWasted and do not end his reading on: other queues lie between his messages.
func TestGapsThatAReaderLeavesOutAreWasted(t *testing.T) {
	w := readahead.Window{Config: readahead.Config{Min: 8 << 10, Max: 64 << 10}}
	read(&w, 0, 1000)
	for i := int64(1); i < 100; i++ {
		if step := read(&w, i*2500, 1000); !step.Hit || step.Wasted != 1500 {
			t.Fatalf("read %d: %+v", i, step)
		}
	}
}

// TestAWindowGrowsOverWhatOthersHaveInTheLog: a reader's messages lie far apart, farther than the first windows reach. He reads
// on all the same, and is served from what was fetched after a few reads.
func TestAWindowGrowsOverWhatOthersHaveInTheLog(t *testing.T) {
	w := readahead.Window{Config: readahead.Config{Min: 4 << 10, Max: 1 << 20}}
	missed := 0
	for i := range int64(100) {
		if !read(&w, i*70_000, 8000).Hit {
			missed++
		}
	}
	if missed > 7 {
		t.Errorf("%d of 100 reads were not fetched ahead", missed)
	}
}

// TestWithoutAWindowNothingIsFetched, and nothing is behind the end of the log.
func TestWithoutAWindowNothingIsFetched(t *testing.T) {
	w := readahead.Window{}
	for i := range int64(10) {
		if step := read(&w, i*1000, 1000); step.Fetch.Len != 0 || step.Hit {
			t.Fatalf("%+v", step)
		}
	}
	w = readahead.Window{Config: readahead.Config{Min: 8 << 10, Max: 8 << 10}}
	if step := read(&w, logEnd-1000, 1000); step.Fetch.Len != 0 {
		t.Errorf("%+v behind the end", step)
	}
}

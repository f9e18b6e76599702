package campaign

import (
	"testing"
	"time"
)

func queueOf(t *testing.T, seeds int64, workers int) *queue {
	t.Helper()
	o := options("good", seeds)
	m, err := newMix(o.Catalogue, o.Scenarios, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Shard = wholeCampaign
	return newQueue(newBook(headerOf(&o, &m), newTally(Header{}, nil)), workers)
}

// TestASecondRunWaitsForAnotherWorker, and the one that ran it first waits until it is settled.
func TestASecondRunWaitsForAnotherWorker(t *testing.T) {
	q := queueOf(t, 1, 2)
	if batch := q.take(1); len(batch) != 1 {
		t.Fatalf("got %v", batch)
	}
	q.settle(job{Purpose: again, Seed: 1, avoid: []int64{1}})
	ended := make(chan []job)
	go func() { ended <- q.take(1) }()
	select {
	case batch := <-ended:
		t.Fatalf("worker 1 got %v", batch)
	case <-time.After(20 * time.Millisecond):
	}
	if batch := q.take(2); len(batch) != 1 || batch[0].Purpose != again {
		t.Fatalf("worker 2 got %v", batch)
	}
	q.settle()
	if batch := <-ended; batch != nil {
		t.Errorf("worker 1 got %v at the end", batch)
	}
	if batch := q.take(2); batch != nil {
		t.Errorf("worker 2 got %v at the end", batch)
	}
}

// TestBatchesGetSmallTowardsTheEnd and give out each seed once.
func TestBatchesGetSmallTowardsTheEnd(t *testing.T) {
	q := queueOf(t, 100, 2)
	next, sizes := uint64(1), []int{}
	for batch := q.take(1); batch != nil; batch = q.take(1) {
		sizes = append(sizes, len(batch))
		for _, j := range batch {
			if j.Seed != next {
				t.Errorf("got seed %d, want %d", j.Seed, next)
			}
			next++
			q.settle()
		}
	}
	if next != 101 || sizes[0] != batchMax || sizes[len(sizes)-1] != 1 {
		t.Errorf("ended before seed %d, batches %v", next, sizes)
	}
}

// TestWhatIsGivenBackRunsFirst, and an ended queue gives nothing.
func TestWhatIsGivenBackRunsFirst(t *testing.T) {
	q := queueOf(t, 100, 2)
	batch := q.take(1)
	q.giveBack(batch[1:])
	q.settle()
	if got := q.take(2); got[0].Seed != batch[1].Seed {
		t.Errorf("got %v", got)
	}
	q.end()
	if got := q.take(2); got != nil {
		t.Errorf("after the end: %v", got)
	}
}

package experiments

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// rollingLoad appends numbered payloads at a rate, and goes on in another ledger when a writer has ended: what an
// application does that must not stop.
type rollingLoad struct {
	create  client.CreateOptions
	rate    float64
	length  time.Duration
	ledgers int           // at most
	pause   time.Duration // before another ledger is created: the metadata store lists a dead bookie for a while
	// created is told of the first ledger. Nil: nobody is.
	created func(*client.Writer)
}

// rolled is what became of it.
type rolled struct {
	h host.Host

	mutex   host.Mutex
	ledgers []ledger.ID
	placed  []placement     // by number; of the last time it was appended
	acks    []time.Duration // of each acknowledgement
	failed  []int           // numbers to append again
	waiting int             // appends under way

	fragments int
	again     int // appends that were made once more, in another ledger
}

// placement is where a number lies.
type placement struct {
	ledger ledger.ID
	entry  ledger.EntryID
	acked  bool
}

// numbered is one append of a number.
type numbered struct {
	client.Op
	r      *rolled
	number int
	ledger ledger.ID
}

// payloadOf is what a number looks like.
func payloadOf(number int) []byte { return fmt.Appendf(nil, "%032d", number) }

// run appends until the time is over and everything is acknowledged.
func (o rollingLoad) run(h host.Host, c *client.Client) (*rolled, error) {
	numbers := int(o.rate * o.length.Seconds())
	r := &rolled{h: h, mutex: h.NewMutex("rolled"), placed: make([]placement, numbers)}
	w, err := o.next(r, c)
	if err != nil {
		return r, err
	}
	if o.created != nil {
		o.created(w)
	}
	interval, begun := time.Duration(float64(time.Second)/o.rate), h.Elapsed()
	for number := 0; ; {
		todo, over := r.todo(number, numbers)
		if over {
			break
		}
		if todo == number {
			if wait := begun + time.Duration(number)*interval - h.Elapsed(); wait > 0 && !h.Root().Sleep(wait) {
				return r, host.ErrStopping
			}
			number++
		}
		if todo < 0 { // only waiting for appends under way
			if !h.Root().Sleep(interval) {
				return r, host.ErrStopping
			}
			continue
		}
		if w, err = o.append(r, c, w, todo); err != nil {
			return r, err
		}
	}
	r.fragments += len(w.Metadata().Fragments)
	return r, w.Close()
}

// todo is the next number to append: one that failed, or the next new one; -1 while nothing is to be appended.
func (r *rolled) todo(number, numbers int) (todo int, over bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.failed) > 0 {
		todo, r.failed = r.failed[0], r.failed[1:]
		r.again++
		return todo, false
	}
	if number < numbers {
		return number, false
	}
	return -1, r.waiting == 0
}

// append appends a number, in a new ledger if the writer has ended.
func (o rollingLoad) append(r *rolled, c *client.Client, w *client.Writer, number int) (*client.Writer, error) {
	for {
		op := &numbered{r: r, number: number, ledger: w.ID()}
		op.Done = op
		r.mutex.Lock()
		r.waiting++
		r.mutex.Unlock()
		err := w.Append(payloadOf(number), &op.Op)
		if err == nil {
			return w, nil
		}
		r.mutex.Lock()
		r.waiting--
		r.mutex.Unlock()
		if len(r.ledgers) == o.ledgers {
			return w, fmt.Errorf("append number %d to the last of %d ledgers: %w", number, o.ledgers, err)
		}
		r.fragments += len(w.Metadata().Fragments)
		if err := w.Close(); err != nil {
			return w, err
		}
		if !r.h.Root().Sleep(o.pause) {
			return w, host.ErrStopping
		}
		if w, err = o.next(r, c); err != nil {
			return w, err
		}
	}
}

func (o rollingLoad) next(r *rolled, c *client.Client) (*client.Writer, error) {
	w, err := c.Create(o.create)
	for errors.Is(err, client.ErrNotEnoughBookies) && r.h.Root().Sleep(createPause) {
		w, err = c.Create(o.create)
	}
	if err != nil {
		return nil, err
	}
	r.ledgers = append(r.ledgers, w.ID())
	return w, nil
}

// Appended takes an append back, in the writer's task.
func (n *numbered) Appended(op *client.Op) {
	r := n.r
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.waiting--
	if op.Err != nil {
		r.failed = append(r.failed, n.number)
		return
	}
	r.placed[n.number] = placement{n.ledger, op.Entry, true}
	r.acks = append(r.acks, r.h.Elapsed())
}

// pause is the longest time between two acknowledgements.
func (r *rolled) pause() (longest time.Duration) {
	for i := 1; i < len(r.acks); i++ {
		longest = max(longest, r.acks[i]-r.acks[i-1])
	}
	return longest
}

// lost reads everything back, and counts acknowledged numbers that are not where they were acknowledged.
func (r *rolled) lost(c *client.Client) (lost int, err error) {
	readers := map[ledger.ID]*client.Reader{}
	for _, id := range r.ledgers {
		reader, err := c.Open(id, client.OpenOptions{})
		if err != nil {
			return 0, err
		}
		defer reader.Close()
		readers[id] = reader
	}
	for number, at := range r.placed {
		if !at.acked {
			continue
		}
		found, err := readers[at.ledger].Read(at.entry, at.entry)
		if err != nil || string(found.List[0].Payload) != string(payloadOf(number)) {
			lost++
		}
		found.Release()
	}
	return lost, nil
}

// onFailure are the settings of the two answers to a bookie that fails.
func onFailure(delay, newLedger bool) protocol.WriterOptions {
	o := protocol.WriterOptions{DelayEnsembleChange: delay}
	if newLedger {
		o.OnBookieFailure = protocol.NewLedger
	}
	return o
}

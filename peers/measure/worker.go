package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"lakebed/peers/stores"
)

// command is what a worker is asked to do.
type command string

const (
	doOpen  command = "open"
	doRound command = "round"
	doFill  command = "fill"
	doCheck command = "check"
	doRead  command = "read"
	doClose command = "close"
)

// request is one line to a worker.
type request struct {
	Do        command       `json:"do"`
	Store     string        `json:"store,omitempty"`
	Place     stores.Place  `json:"place"`
	Processes []int         `json:"processes,omitempty"` // of its broker
	Length    time.Duration `json:"length,omitempty"`
	Bytes     int64         `json:"bytes,omitempty"` // a round of appends ends when so many are stored; a fill is so long
}

// answer is the line that comes back.
type answer struct {
	Round  Round  `json:"round"`
	Error  string `json:"error,omitempty"`
	Broken bool   `json:"broken,omitempty"` // what is read is not what was appended
}

// Round is what one round did.
type Round struct {
	Done      int64         `json:"done"` // payloads
	Elapsed   time.Duration `json:"elapsed"`
	ClientCPU time.Duration `json:"client_cpu"` // of the worker, with the store in it if it has no broker
	BrokerCPU time.Duration `json:"broker_cpu"`
	P50       time.Duration `json:"p50"` // of an append
	P99       time.Duration `json:"p99"`
}

// CPU is that of all processes involved.
func (r Round) CPU() time.Duration { return r.ClientCPU + r.BrokerCPU }

// worker is the side of a worker's process.
type worker struct {
	log       stores.Log
	point     stores.Point
	processes []int
	source    *source
	summing   bool   // what is appended now will be checked
	sum       uint32 // of the checksums of all that was appended
	count     int64
}

var errNotOpen = errors.New("no store is open")

// Work serves requests until they end.
func Work(in io.Reader, out io.Writer) error {
	w := &worker{}
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		round, err := w.serve(r)
		a := answer{Round: round, Broken: errors.Is(err, ErrBroken)}
		if err != nil {
			a.Error = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
}

func (w *worker) serve(r request) (round Round, err error) {
	if r.Do == doOpen {
		return round, w.open(r)
	}
	if w.log == nil {
		return round, errNotOpen
	}
	switch r.Do {
	case doRound:
		return w.appends(r.Length, r.Bytes)
	case doFill:
		w.summing = true
		defer func() { w.summing = false }()
		return w.appends(fillPatience, r.Bytes)
	case doCheck:
		return round, w.check()
	case doRead:
		return w.reads(r.Length)
	case doClose:
		err = w.log.Close()
		w.log = nil
		return round, err
	}
	return round, fmt.Errorf("there is no command %q", r.Do)
}

func (w *worker) open(r request) (err error) {
	store, ok := stores.Find(r.Store)
	if !ok {
		return fmt.Errorf("there is no store %q", r.Store)
	}
	w.point, w.processes, w.source = r.Place.Point, r.Processes, newSource(r.Place.Seed)
	w.log, err = store.Open(r.Place)
	return err
}

// check reads everything and compares it with what was appended. Some stores show an append a little after they
// acknowledged it, so it is read again until it is all there.
func (w *worker) check() error {
	var count int64
	var sum uint32
	for deadline := time.Now().Add(checkPatience); ; {
		count, sum = 0, 0
		err := w.log.Read(func(payload []byte) {
			count++
			sum += crc32.Checksum(payload, castagnoli)
		})
		if err != nil {
			return fmt.Errorf("read everything: %w", err)
		}
		if count == w.count && sum == w.sum {
			return nil
		}
		if count >= w.count || time.Now().After(deadline) {
			return fmt.Errorf("%w: %d payloads were acknowledged, sum of checksums %08x, and %d are read, %08x", ErrBroken, w.count, w.sum, count, sum)
		}
		time.Sleep(settlePoll)
	}
}

// reads reads everything again and again.
func (w *worker) reads(length time.Duration) (r Round, err error) {
	var bytes int64
	usage, begun := w.usage(), time.Now()
	for r.Elapsed < length && err == nil {
		err = w.log.Read(func(payload []byte) {
			r.Done++
			bytes += int64(len(payload))
		})
		r.Elapsed = time.Since(begun)
	}
	if err == nil && bytes != r.Done*int64(w.point.PayloadBytes) {
		err = fmt.Errorf("%w: %d payloads have %d bytes", ErrBroken, r.Done, bytes)
	}
	w.usage().since(usage, &r)
	return r, err
}

package measure

import (
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"lakebed/peers/stores"
)

const (
	settleTime    = 50 * time.Millisecond // after the last append, CPU is still counted
	settlePoll    = 5 * time.Millisecond
	settleMax     = 10 * time.Second
	fillPatience  = time.Minute
	checkPatience = 30 * time.Second
	sourceBytes   = 8 << 20 // random bytes that payloads are cut from: more than the processor's caches
	latencyMax    = int64(10 * time.Minute)
	latencyDigits = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// source has the bytes of all payloads, which never change.
type source struct{ bytes []byte }

func newSource(seed uint64) *source {
	s := &source{make([]byte, sourceBytes)}
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	_, _ = rand.NewChaCha8(key).Read(s.bytes) // never fails
	return s
}

// appender is one task that appends and waits.
type appender struct {
	random    *rand.Rand
	histogram *hdrhistogram.Histogram
	done      int64
	sum       uint32
	err       error
}

// settler is a log that has work behind its appends, and knows when it has ended.
type settler interface{ Settled() bool }

// appends has the point's appenders append until the time or the bytes are over.
func (w *worker) appends(length time.Duration, bytesMax int64) (r Round, err error) {
	tasks := w.point.Appenders
	grouped, isLine := w.log.(stores.GroupLog)
	if isLine {
		tasks = 1
	}
	appenders := make([]*appender, tasks)
	for i := range appenders {
		appenders[i] = &appender{
			random:    rand.New(rand.NewPCG(uint64(w.count), uint64(i))),
			histogram: hdrhistogram.New(1, latencyMax, latencyDigits),
		}
	}
	left := atomic.Int64{}
	left.Store(bytesMax)
	usage, begun := w.usage(), time.Now()
	var all sync.WaitGroup
	for _, a := range appenders {
		all.Go(func() {
			if isLine {
				a.appendGroups(w, grouped, begun.Add(length), &left)
			} else {
				a.append(w, begun.Add(length), &left)
			}
		})
	}
	all.Wait()
	r.Elapsed = time.Since(begun)
	w.settle()
	w.usage().since(usage, &r)
	histogram := appenders[0].histogram
	for i, a := range appenders {
		err = errors.Join(err, a.err)
		r.Done += a.done
		w.sum += a.sum
		if i > 0 {
			histogram.Merge(a.histogram)
		}
	}
	w.count += r.Done
	r.P50, r.P99 = time.Duration(histogram.ValueAtQuantile(50)), time.Duration(histogram.ValueAtQuantile(99))
	return r, err
}

// settle waits for work behind the appends: it belongs to them.
func (w *worker) settle() {
	time.Sleep(settleTime)
	s, ok := w.log.(settler)
	for deadline := time.Now().Add(settleMax); ok && !s.Settled() && time.Now().Before(deadline); {
		time.Sleep(settlePoll)
	}
}

// append appends one payload after the other. Only a fill takes checksums for worker.check: rounds are timed.
func (a *appender) append(w *worker, deadline time.Time, left *atomic.Int64) {
	size := w.point.PayloadBytes
	for now := time.Now(); now.Before(deadline) && left.Add(-int64(size)) >= 0; {
		partition := 0
		if w.point.Partitions > 1 {
			partition = a.random.IntN(w.point.Partitions)
		}
		at := a.random.IntN(sourceBytes - size)
		payload := w.source.bytes[at : at+size : at+size]
		if a.err = w.log.Append(partition, payload); a.err != nil {
			return
		}
		after := time.Now()
		_ = a.histogram.RecordValue(int64(after.Sub(now))) // an append of ten minutes has failed
		now = after
		a.done++
		if w.summing {
			a.sum += crc32.Checksum(payload, castagnoli)
		}
	}
}

// appendGroups hands in as many payloads as there are appenders at a time.
func (a *appender) appendGroups(w *worker, log stores.GroupLog, deadline time.Time, left *atomic.Int64) {
	size, count := w.point.PayloadBytes, w.point.Appenders
	for now := time.Now(); now.Before(deadline) && left.Add(-int64(size*count)) >= 0; {
		at := a.random.IntN(sourceBytes - size*count)
		group := w.source.bytes[at : at+size*count]
		if a.err = log.AppendGroup(group); a.err != nil {
			return
		}
		after := time.Now()
		_ = a.histogram.RecordValue(int64(after.Sub(now)))
		now = after
		a.done += int64(count)
		for b := group; w.summing && len(b) > 0; b = b[size:] {
			a.sum += crc32.Checksum(b[:size], castagnoli)
		}
	}
}

package stores

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// counter gives numbers.
type counter struct{ n atomic.Int64 }

func (c *counter) take() int64  { return c.n.Add(1) - 1 }
func (c *counter) count() int64 { return c.n.Load() }

// content is what a client sends, always the same: random, so that nothing is made smaller on the way.
func content(number, bytes int) []byte {
	p := make([]byte, bytes)
	r := rand.New(rand.NewPCG(1, uint64(number)))
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// Round is what a store did in one round.
type Round struct {
	Messages  int64
	Payload   int64 // bytes
	Elapsed   time.Duration
	CPU       time.Duration // of this process
	Groups    []int64       // bytes of each that the store wrote
	OpenFiles int
	latencies []time.Duration // sorted
}

// Rate is bytes of payload a second.
func (r *Round) Rate() float64 { return float64(r.Payload) / r.Elapsed.Seconds() }

// PerSecond is messages a second.
func (r *Round) PerSecond() float64 { return float64(r.Messages) / r.Elapsed.Seconds() }

// CPUMicros is the processor's time of a message.
func (r *Round) CPUMicros() float64 {
	return float64(r.CPU) / float64(time.Microsecond) / float64(max(r.Messages, 1))
}

// Micros is a percentile of latencies.
func (r *Round) Micros(percent float64) float64 {
	if len(r.latencies) == 0 {
		return 0
	}
	i := min(int(percent/100*float64(len(r.latencies))), len(r.latencies)-1)
	return float64(r.latencies[i]) / float64(time.Microsecond)
}

// GroupBytes is the sum of the groups.
func (r *Round) GroupBytes() (sum int64) {
	for _, g := range r.Groups {
		sum += g
	}
	return sum
}

// ByRaw is bytes of groups a second, by those of the raw line.
func (r *Round) ByRaw(raw *Round) float64 {
	bare := float64(raw.GroupBytes()) / raw.Elapsed.Seconds()
	if bare == 0 {
		return 0
	}
	return float64(r.GroupBytes()) / r.Elapsed.Seconds() / bare
}

// Append appends for so long, or until so many bytes of payload are appended; a limit of zero is none. Latencies are kept
// of all messages.
func (r *Rig) Append(ctx context.Context, appenders, payload int, length time.Duration, bytesMax int64) (Round, error) {
	r.observer.takeGroups()
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	var sent counter
	all := make([][]time.Duration, appenders)
	failures := make([]error, appenders)
	var tasks sync.WaitGroup
	before, begun := cpuNow(), time.Now()
	for i := range appenders {
		client := r.store.appender(i, payload)
		tasks.Go(func() {
			at := time.Now()
			for n := r.turn + i; !stop.Load() && at.Sub(begun) < length; n += appenders {
				if bytesMax > 0 && sent.take()*int64(payload) >= bytesMax {
					return
				}
				if failures[i] = client.append(n % r.Partitions); failures[i] != nil {
					stop.Store(true)
					return
				}
				now := time.Now()
				all[i] = append(all[i], now.Sub(at))
				at = now
			}
		})
	}
	tasks.Wait()
	done := Round{Elapsed: time.Since(begun), CPU: cpuNow() - before, Groups: r.observer.takeGroups(), OpenFiles: r.OpenFiles()}
	done.latencies = slices.Concat(all...)
	slices.Sort(done.latencies)
	done.Messages = int64(len(done.latencies))
	done.Payload = done.Messages * int64(payload)
	r.turn += int(done.Messages)
	if err := errors.Join(append(failures, ctx.Err())...); err != nil {
		return done, fmt.Errorf("append to %s in mode %s: %w", r.Kind, r.Policy, err)
	}
	return done, nil
}

// Read reads the partitions one after the other from their first messages on, for so long at most.
func (r *Rig) Read(ctx context.Context, length time.Duration) (done Round, err error) {
	before, begun := cpuNow(), time.Now()
	for number := 0; number < r.Partitions; number++ {
		for from := int64(0); ; {
			at := time.Now()
			if at.Sub(begun) >= length || ctx.Err() != nil {
				number = r.Partitions
				break
			}
			count, bytes, next, err := r.store.read(number, from)
			if err != nil {
				return done, fmt.Errorf("read from %d of partition %d: %w", from, number, err)
			}
			if count == 0 {
				break
			}
			done.latencies = append(done.latencies, time.Since(at))
			done.Messages, done.Payload, from = done.Messages+int64(count), done.Payload+bytes, next
		}
	}
	return r.finishRead(done, begun, before), ctx.Err()
}

// Seek looks up random times and reads the message found, for so long.
func (r *Rig) Seek(ctx context.Context, first, last int64, length time.Duration, seed uint64) (done Round, err error) {
	random := rand.New(rand.NewPCG(seed, 0))
	before, begun := cpuNow(), time.Now()
	for at := begun; at.Sub(begun) < length && ctx.Err() == nil; at = time.Now() {
		number := random.IntN(r.Partitions)
		from, err := r.store.seek(number, first+random.Int64N(max(last-first, 1)))
		if err == nil {
			_, _, _, err = r.store.read(number, from)
		}
		if err != nil {
			return done, fmt.Errorf("read from a time of partition %d: %w", number, err)
		}
		done.latencies = append(done.latencies, time.Since(at))
		done.Messages++
	}
	return r.finishRead(done, begun, before), ctx.Err()
}

func (r *Rig) finishRead(done Round, begun time.Time, before time.Duration) Round {
	done.Elapsed, done.CPU, done.OpenFiles = time.Since(begun), cpuNow()-before, r.OpenFiles()
	slices.Sort(done.latencies)
	return done
}

// Times are the first and the last time that messages of this life of the store may have.
func (r *Rig) Times() (first, last int64) { return r.store.times() }

// cpuNow is the processor's time that this process has used.
func cpuNow() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(fmt.Sprintf("getrusage of this process cannot fail: %v", err))
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package ledgers

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// round is what one cell did in one round.
type round struct {
	entries   int64
	elapsed   time.Duration
	cpu       time.Duration // of all processes measured
	latencies *histogram    // nil: there are none
	saturated bool          // of an open loop: the schedule was not kept
	lateness  time.Duration // of an open loop: how late the last tenth was sent, on average
}

func (r round) perSecond() float64 {
	if r.elapsed <= 0 {
		return 0
	}
	return float64(r.entries) / r.elapsed.Seconds()
}

// cpuMicros is the time of processors that an entry took.
func (r round) cpuMicros() float64 {
	if r.entries == 0 {
		return 0
	}
	return float64(r.cpu.Nanoseconds()) / 1e3 / float64(r.entries)
}

// meter reads how much time of processors all processes of a measurement have used.
type meter func() (time.Duration, error)

// ownCPU is that of this process, all threads, user and system.
func ownCPU() (time.Duration, error) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return 0, fmt.Errorf("ask how much time this process has used: %w", err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), nil
}

// span is a part of a round that is being measured: time and processors.
type span struct {
	meter meter
	at    time.Time
	cpu   time.Duration
}

func (m meter) begin() (span, error) {
	cpu, err := m()
	return span{meter: m, at: time.Now(), cpu: cpu}, err
}

// end returns what has passed since begin.
func (s span) end() (elapsed, cpu time.Duration, err error) {
	elapsed = time.Since(s.at)
	cpu, err = s.meter()
	return elapsed, cpu - s.cpu, err
}

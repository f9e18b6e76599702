package stuck

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime/metrics"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Memory is the most that was seen.
type Memory struct {
	// ResidentBytes is the kernel's count of the process's pages, at its highest since the process began.
	ResidentBytes int64 `json:"resident_bytes"`
	// HeapBytes is what lay in Go's heap, garbage included, at the highest of all looks.
	HeapBytes int64 `json:"heap_bytes"`
	// LiveBytes is what the collector found alive, at the highest of all looks.
	LiveBytes int64 `json:"live_bytes"`
	Looks     int   `json:"looks"`
}

// lookEvery is how often the heap is looked at. The kernel keeps the highest resident size by itself.
const lookEvery = 20 * time.Millisecond

const (
	metricHeap = "/memory/classes/heap/objects:bytes"
	metricLive = "/gc/heap/live:bytes"
)

// watch looks at the heap until stop is called, which returns the most that was seen.
func watch() (stop func() (Memory, error)) {
	ending := make(chan struct{})
	var most Memory
	var looking sync.WaitGroup
	looking.Go(func() {
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		samples := []metrics.Sample{{Name: metricHeap}, {Name: metricLive}}
		for {
			most.look(samples)
			select {
			case <-ending:
				return
			case <-ticker.C:
			}
		}
	})
	return func() (Memory, error) {
		close(ending)
		looking.Wait()
		var err error
		most.ResidentBytes, err = residentPeak()
		return most, err
	}
}

func (m *Memory) look(samples []metrics.Sample) {
	metrics.Read(samples)
	m.HeapBytes = max(m.HeapBytes, int64(samples[0].Value.Uint64()))
	m.LiveBytes = max(m.LiveBytes, int64(samples[1].Value.Uint64()))
	m.Looks++
}

// residentPeak is the highest resident size of this process.
func residentPeak() (int64, error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("read the resident size of this process: %w", err)
	}
	defer f.Close()
	return peakIn(bufio.NewScanner(f))
}

var errNoPeak = errors.New("no line VmHWM in the status of the process")

func peakIn(lines *bufio.Scanner) (int64, error) {
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "VmHWM:")
		if !ok {
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("line VmHWM in the status of the process: %w", err)
		}
		return kilobytes << 10, nil
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	return 0, errNoPeak
}

// profileHeap writes a profile of the heap to a file, if it has a name.
func profileHeap(name string) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("profile of the heap: %w", err)
	}
	return errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close())
}

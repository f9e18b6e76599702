package bench

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// noisyShare is the part of the processors from which on the work of others spoils a comparison: an engine of several
// threads then loses, or wins, against a raw line of one.
const noisyShare = 0.15

// ticksPerSecond is the unit of /proc/stat, the same on every Linux that Go runs on.
const ticksPerSecond = 100

// machineUsage is how long the machine's processors have worked, for anybody and for us.
type machineUsage struct {
	at   time.Time
	busy time.Duration // on all processors, and what the hypervisor took from them
	own  time.Duration // of this process and of those it has waited for
}

func machineUsageNow() machineUsage {
	text, _ := os.ReadFile("/proc/stat") // without it nobody else is seen, which othersShare shows as zero
	return machineUsage{at: time.Now(), busy: busyTime(string(text)), own: ownTime()}
}

// busyTime reads the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
func busyTime(stat string) time.Duration {
	line, _, _ := strings.Cut(stat, "\n")
	var user, nice, system, idle, wait, irq, softirq, steal int64
	if _, err := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d",
		&user, &nice, &system, &idle, &wait, &irq, &softirq, &steal); err != nil {
		return 0
	}
	return time.Duration(user+nice+system+irq+softirq+steal) * (time.Second / ticksPerSecond)
}

func ownTime() (sum time.Duration) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var r unix.Rusage
		if unix.Getrusage(who, &r) == nil {
			sum += time.Duration(r.Utime.Nano() + r.Stime.Nano())
		}
	}
	return sum
}

// othersShare is the part of the machine's processors that others used between two readings. The kernel's own threads
// count as others, also where they work for us: some hundredths are normal.
func othersShare(before, after machineUsage, cpus int) float64 {
	span := after.at.Sub(before.at) * time.Duration(cpus)
	if span <= 0 {
		return 0
	}
	others := (after.busy - before.busy) - (after.own - before.own)
	return max(0, float64(others)/float64(span))
}

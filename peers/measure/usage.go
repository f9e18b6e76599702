package measure

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of /proc/PID/stat on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// usage is user and system time of all processes involved.
type usage struct{ client, broker time.Duration }

func (w *worker) usage() (u usage) {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) == nil {
		u.client = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	for _, id := range w.processes {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id)) // a broker that is gone shows in the appends
		u.broker += processTime(text)
	}
	return u
}

func (u usage) since(earlier usage, r *Round) {
	r.ClientCPU, r.BrokerCPU = u.client-earlier.client, u.broker-earlier.broker
}

// processTime reads user and system time from the text of /proc/PID/stat. The name in its second field may hold anything, a
// parenthesis too, so fields are counted from the last one.
func processTime(stat []byte) time.Duration {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const user, system = 11, 12 // behind the name
	if len(fields) <= system {
		return 0
	}
	var sum time.Duration
	for _, field := range [][]byte{fields[user], fields[system]} {
		var ticks int64
		if _, err := fmt.Sscan(string(field), &ticks); err != nil {
			return 0
		}
		sum += time.Duration(ticks) * tick
	}
	return sum
}

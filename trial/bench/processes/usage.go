package processes

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Usage is the processor time of a cluster's processes since Start, those that were killed included. The kernel counts
// it in hundredths of a second for each.
type Usage struct {
	Metadata time.Duration
	Bookies  []time.Duration
}

// Total is all of it.
func (u Usage) Total() time.Duration {
	sum := u.Metadata
	for _, b := range u.Bookies {
		sum += b
	}
	return sum
}

// tick is the unit of /proc/PID/stat, which Linux fixes at 100 a second for all that programs see.
const tick = 10 * time.Millisecond

var errStat = errors.New("not understood")

// consumedBy reads the processor time of a living process.
func consumedBy(pid int) (time.Duration, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	used, err := parseStat(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return used, nil
}

// parseStat adds fields 14 and 15, user and system time. The second field is the program's name in parentheses, and may
// itself hold spaces and parentheses.
func parseStat(text []byte) (time.Duration, error) {
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0, errStat
	}
	var sum time.Duration
	for _, field := range fields[11:13] {
		n, err := strconv.ParseUint(string(field), 10, 40)
		if err != nil {
			return 0, fmt.Errorf("%w: %w", errStat, err)
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

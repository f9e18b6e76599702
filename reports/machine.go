package reports

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ticksPerSecond is the unit of /proc/stat, the same on every Linux that Go runs on.
const ticksPerSecond = 100

// OthersUnknown is the share of others where nobody watched.
const OthersUnknown = -1

// ThisMachine describes this machine. What others used of it is not known yet: see WatchOthers.
func ThisMachine() Machine {
	processors, _ := os.ReadFile("/proc/cpuinfo") // without it the model is unknown, which is said
	m := Machine{
		CPUs: runtime.NumCPU(), Model: processorModel(string(processors)), Kernel: kernelRelease(), OthersShare: OthersUnknown,
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.MemoryBytes = int64(info.Totalram) * int64(info.Unit)
	}
	return m
}

// processorModel reads the text of /proc/cpuinfo, which names the model differently on different processors.
func processorModel(text string) string {
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch strings.TrimSpace(key) {
		case "model name", "Model", "cpu model":
			if value = strings.TrimSpace(value); value != "" {
				return value
			}
		}
	}
	return unknown
}

func kernelRelease() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return unknown
	}
	return unix.ByteSliceToString(name.Release[:])
}

// DiskOf describes the file system that holds a directory. Sync and Warm are for the caller, who knows them.
func DiskOf(dir string) (Disk, error) {
	d := Disk{Dir: dir}
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return d, fmt.Errorf("ask for the file system of %s: %w", dir, err)
	}
	d.FreeBytes = int64(stat.Bavail) * stat.Bsize
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return d, fmt.Errorf("read the list of mounts: %w", err)
	}
	absolute, err := filepath.Abs(dir) // mounts are listed by absolute paths
	if err == nil {
		absolute, err = filepath.EvalSymlinks(absolute)
	}
	if err != nil {
		return d, fmt.Errorf("resolve %s: %w", dir, err)
	}
	d.FileSystem, d.Device = mountOf(string(mounts), absolute)
	d.InMemory = d.FileSystem == "tmpfs" || d.FileSystem == "ramfs"
	return d, nil
}

// mountOf finds the mount with the longest path above dir in the text of mountinfo. Of two at one path the later one
// covers the earlier.
func mountOf(mounts, dir string) (fileSystem, device string) {
	fileSystem, device = unknown, unknown
	best := -1
	for lines := bufio.NewScanner(strings.NewReader(mounts)); lines.Scan(); {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields, source := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(source) < 2 {
			continue
		}
		if at := unescapeMount(fields[4]); len(at) >= best && isBelow(dir, at) {
			best, fileSystem, device = len(at), source[0], source[1]
		}
	}
	return fileSystem, device
}

// unescapeMount takes back the octal escapes of characters that separate the fields of mountinfo.
func unescapeMount(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

func isBelow(path, above string) bool {
	return path == above || above == "/" || strings.HasPrefix(path, above+"/")
}

// OthersWatch measures how much of the machine others use: an engine of several threads loses, or wins, against a raw line
// of one when they do.
type OthersWatch struct {
	at   time.Time
	busy time.Duration // on all processors, and what the hypervisor took from them
	own  time.Duration // of this process and of those it has waited for
}

// WatchOthers begins to watch.
func WatchOthers() OthersWatch {
	text, _ := os.ReadFile("/proc/stat") // without it nothing is known, which Share says
	return OthersWatch{at: time.Now(), busy: busyTime(string(text)), own: ownTime()}
}

// Share is the part of all processors' time that others have used since the watch began; OthersUnknown where the system
// does not tell. Processes of ours count as others until they have ended and were waited for. The kernel's own threads
// always do, also where they work for us: some hundredths are normal.
func (w OthersWatch) Share() float64 {
	now := WatchOthers()
	span := now.at.Sub(w.at) * time.Duration(runtime.NumCPU())
	if w.busy == 0 || now.busy == 0 || span <= 0 {
		return OthersUnknown
	}
	others := (now.busy - w.busy) - (now.own - w.own)
	return min(1, max(0, float64(others)/float64(span)))
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

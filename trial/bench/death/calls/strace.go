package calls

import (
	"fmt"
	"os/exec"
	"strconv"
)

// stringBytesMax is how much of one buffer strace prints: what a small load puts into a journal group, and no whole
// zero-filled file.
const stringBytesMax = 64 << 10

// Available says why traces cannot be had here; nil if they can.
func Available() error {
	path, err := exec.LookPath("strace")
	if err != nil {
		return fmt.Errorf("strace is not installed: %w", err)
	}
	if output, err := exec.Command(path, "-f", "-D", "-o", "/dev/null", "-e", "trace=write", "true").CombinedOutput(); err != nil {
		return fmt.Errorf("strace may not trace here: %w: %s", err, output)
	}
	return nil
}

// Strace is the command line that traces another one into a file. The traced program is the process that is started, and
// strace its grandchild (-D), so that signals and waiting are as without it.
func Strace(output string, line []string) []string {
	return append([]string{
		"strace", "-D", "-f", "-tt", "-yy", "-xx", "-s", strconv.Itoa(stringBytesMax), "-o", output,
		"-e", "trace=write,writev,pwrite64,pwritev,pwritev2,sendto,sendmsg,sendfile,fsync,fdatasync", "-e", "signal=none",
	}, line...)
}

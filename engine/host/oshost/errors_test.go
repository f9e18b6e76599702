package oshost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lakebed/engine/host"
)

func TestErrorsOfTheMachineHaveTheirClass(t *testing.T) {
	for _, c := range []struct {
		err  error
		want error
	}{
		{unix.EEXIST, host.ErrExist},
		{unix.ENOENT, host.ErrNotExist},
		{unix.ENOSPC, host.ErrNoSpace},
		{unix.EDQUOT, host.ErrNoSpace},
		{unix.EIO, host.ErrIO},
		{unix.EROFS, host.ErrIO},
		{unix.EUCLEAN, host.ErrIO},
		{unix.EBADF, host.ErrClosed},
		{unix.ECONNRESET, host.ErrReset},
		{unix.EPIPE, host.ErrReset},
		{unix.ECONNREFUSED, host.ErrRefused},
		{unix.EHOSTUNREACH, host.ErrRefused},
		{unix.ETIMEDOUT, host.ErrTimeout},
		{unix.EADDRINUSE, host.ErrExist},
		{os.ErrClosed, host.ErrClosed},
		{net.ErrClosed, host.ErrClosed},
		{os.ErrDeadlineExceeded, host.ErrTimeout},
		{context.DeadlineExceeded, host.ErrTimeout},
		{context.Canceled, host.ErrStopping},
		{&net.DNSError{Err: "no such host", IsNotFound: true}, host.ErrRefused},
		{&net.DNSError{Err: "slow", IsTimeout: true}, host.ErrTimeout},
		{host.ErrStopping, host.ErrStopping},
	} {
		wrapped := &fs.PathError{Op: "operation", Path: "/path", Err: c.err}
		for _, err := range []error{c.err, wrapped, fmt.Errorf("wrapped: %w", wrapped)} {
			got := explain(err, "do %s", "it")
			if !errors.Is(got, c.want) || !strings.HasPrefix(got.Error(), "do it: ") {
				t.Errorf("%v is explained as %q, want class %q", err, got, c.want)
			}
			if _, isErrno := c.err.(unix.Errno); isErrno && !errors.Is(got, c.err) {
				t.Errorf("%q has lost the machine's own error", got)
			}
		}
	}
}

// TestErrorsWithoutAClassKeepTheirOwn: EINVAL must not be taken for any class a caller branches on.
func TestErrorsWithoutAClassKeepTheirOwn(t *testing.T) {
	err := explain(unix.EINVAL, "do it")
	if !errors.Is(err, unix.EINVAL) {
		t.Errorf("%q has lost the machine's own error", err)
	}
	if class := classOf(err); class != nil {
		t.Errorf("EINVAL has class %q", class)
	}
}

// special opens a device of the machine as if it were a file of a volume.
func special(t *testing.T, path string) *file {
	t.Helper()
	raw, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Skipf("this machine has no %s: %v", path, err)
	}
	h, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	f := newFile(h, raw, path)
	t.Cleanup(func() { f.Close() })
	return f
}

// TestAFullDeviceSaysNoSpace uses the device that is always full, by each way of writing.
func TestAFullDeviceSaysNoSpace(t *testing.T) {
	f := special(t, "/dev/full")
	for name, buffers := range map[string][][]byte{
		"one buffer":   {make([]byte, 10)},
		"many buffers": {make([]byte, 10), make([]byte, 10)},
	} {
		n, err := f.WriteBuffersAt(buffers, 0)
		if n != 0 || !errors.Is(err, host.ErrNoSpace) || !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: wrote %d bytes with error %v", name, n, err)
		}
	}
}

// TestADeviceErrorSaysIO reads the process's memory at an address that is never mapped, which the kernel answers by EIO.
func TestADeviceErrorSaysIO(t *testing.T) {
	f := special(t, "/proc/self/mem")
	n, err := f.ReadAt(make([]byte, 10), 0)
	if n != 0 || !errors.Is(err, host.ErrIO) || !errors.Is(err, unix.EIO) {
		t.Errorf("read %d bytes with error %v", n, err)
	}
}

func TestErrorsNameTheFileAndTheOffset(t *testing.T) {
	directory := t.TempDir()
	h, err := New(Config{Volumes: map[string]string{"v": directory}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := h.Disk("v")
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Open("missing")
	want := "open " + filepath.Join(directory, "missing") + ": does not exist (no such file or directory)"
	if err == nil || err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

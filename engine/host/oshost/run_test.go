package oshost_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// TestRunStopsTheRootWhenItsContextEnds and then waits for boot to close down.
func TestRunStopsTheRootWhenItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	closed := false
	err := oshost.Run(ctx, configIn(t.TempDir()), func(h host.Host) error {
		h.Root().Go("server", func() { host.AwaitStop(h.Root()) })
		cancel()
		h.Root().Wait()
		closed = true
		return errors.New("the boot's own error")
	})
	if err == nil || err.Error() != "the boot's own error" || !closed {
		t.Errorf("got %v, closed down: %v", err, closed)
	}
}

// TestRunNamesTheTasksThatWereLeftOver beside boot's own error, and keeps the locks that they may rely on.
func TestRunNamesTheTasksThatWereLeftOver(t *testing.T) {
	directory := t.TempDir()
	own := errors.New("own")
	var root, child host.Group
	var held host.Dir
	err := oshost.Run(context.Background(), configIn(directory), func(h host.Host) error {
		root, child = h.Root(), h.Root().New("child")
		root.Go("second", func() { host.AwaitStop(root) })
		child.Go("first", func() { host.AwaitStop(child) })
		joined := h.Root().New("joined")
		joined.Go("gone", func() {})
		joined.Wait()
		var err error
		if held, err = h.Disk("journal"); err != nil {
			return err
		}
		_, err = held.Lock()
		return errors.Join(err, own)
	})
	want := "2 still running: root/child/first, root/second"
	if !errors.Is(err, own) || !errors.Is(err, oshost.ErrLeftOver) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if _, err := held.Lock(); !errors.Is(err, host.ErrLocked) {
		t.Errorf("the lock of a node with running tasks was given up: %v", err)
	}
	root.Stop()
	child.Stop()
	root.Wait()
	child.Wait()
}

// TestATerminationSignalEndsTheContext as an operator's kill does.
func TestATerminationSignalEndsTheContext(t *testing.T) {
	ctx, release := oshost.UntilTerminated(context.Background())
	defer release()
	err := oshost.Run(ctx, configIn(t.TempDir()), func(h host.Host) error {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		host.AwaitStop(h.Root())
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

const panicEnvironment = "OSHOST_TEST_PANIC"

// TestAPanicInATaskEndsTheProcessBeforeItsGroupIsJoined runs itself in a child process. If the group were joined
// first, boot could store what the broken invariant was meant to prevent: here it would print a word.
func TestAPanicInATaskEndsTheProcessBeforeItsGroupIsJoined(t *testing.T) {
	if os.Getenv(panicEnvironment) != "" {
		_ = oshost.Run(context.Background(), configIn(t.TempDir()), func(h host.Host) error {
			h.Root().Go("broken", func() {
				defer time.Sleep(200 * time.Millisecond) // gives boot the time to do harm
				panic("on purpose")
			})
			h.Root().Wait()
			fmt.Println("JOINED")
			return nil
		})
		return
	}
	command := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), panicEnvironment+"=1")
	output, err := command.CombinedOutput()
	if err == nil || !bytes.Contains(output, []byte("on purpose")) {
		t.Errorf("the process lived on: %v\n%s", err, output)
	}
	if bytes.Contains(output, []byte("JOINED")) {
		t.Error("the group was joined while its task was panicking")
	}
}

func newHost(t testing.TB, config oshost.Config) *oshost.Host {
	t.Helper()
	h, err := oshost.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// TestAScopeOfNoTimeHasPassedFromTheFirstMoment: a zero Deadline means none, and must not come out of Elapsed.
func TestAScopeOfNoTimeHasPassedFromTheFirstMoment(t *testing.T) {
	h := newHost(t, configIn(t.TempDir()))
	if err := host.Within(h, nil, 0).Err(h.Elapsed()); err != host.ErrTimeout {
		t.Errorf("got %v", err)
	}
}

// TestAContextBecomesAScope: its deadline, its cancellation, and the difference between the two.
func TestAContextBecomesAScope(t *testing.T) {
	h := newHost(t, configIn(t.TempDir()))

	scope, release := h.FromContext(context.Background())
	if scope.Deadline != 0 || scope.Group != nil || scope.Err(h.Elapsed()) != nil {
		t.Errorf("a context without bounds gave %+v", scope)
	}
	release()

	ctx, cancel := context.WithCancel(context.Background())
	scope, release = h.FromContext(ctx)
	defer release()
	if err := scope.Err(h.Elapsed()); err != nil {
		t.Errorf("before the cancellation: %v", err)
	}
	cancel()
	host.AwaitStop(scope.Group)
	if err := scope.Err(h.Elapsed()); err != host.ErrStopping {
		t.Errorf("after the cancellation: %v", err)
	}

	timed, cancelTimed := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancelTimed()
	scope, releaseTimed := h.FromContext(timed)
	defer releaseTimed()
	<-timed.Done()
	time.Sleep(5 * time.Millisecond)
	if err := scope.Err(h.Elapsed()); err != host.ErrTimeout {
		t.Errorf("after the deadline: %v", err)
	}

	past, cancelPast := context.WithDeadline(context.Background(), time.Now().Add(-time.Hour))
	defer cancelPast()
	scope, releasePast := h.FromContext(past)
	defer releasePast()
	if err := scope.Err(h.Elapsed()); err != host.ErrTimeout {
		t.Errorf("a deadline long past: %v", err)
	}
}

// TestAReleasedScopeOutlivesItsContext: after the operation nobody watches the context any more.
func TestAReleasedScopeOutlivesItsContext(t *testing.T) {
	h := newHost(t, configIn(t.TempDir()))
	ctx, cancel := context.WithCancel(context.Background())
	scope, release := h.FromContext(ctx)
	release()
	cancel()
	time.Sleep(5 * time.Millisecond)
	if scope.Group.Stopping() {
		t.Error("the context still reached the scope")
	}
}

// deafAddress is an address whose connections are neither taken nor refused: a listener with a full queue, from which
// nobody accepts. The kernel drops further requests, and the dialer keeps asking.
func deafAddress(t *testing.T) string {
	t.Helper()
	descriptor, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(descriptor) })
	if err := unix.Bind(descriptor, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(descriptor, 0); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(descriptor)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprint("127.0.0.1:", name.(*unix.SockaddrInet4).Port)
	for range 10 {
		c, err := net.DialTimeout("tcp", address, 50*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Fatal("a listener with a queue of none took ten connections")
	return ""
}

func TestAStopCancelsADialThatIsUnderWay(t *testing.T) {
	address := deafAddress(t)
	h := newHost(t, configIn(t.TempDir()))
	g := h.Root().New("dial")
	stopper := h.Root().New("stopper")
	stopper.Go("stop", func() {
		h.Root().Sleep(50 * time.Millisecond)
		g.Stop()
	})
	start := h.Elapsed()
	_, err := h.Net().Dial(address, host.Within(h, g, time.Minute))
	waited := h.Elapsed() - start
	stopper.Wait()
	if !errors.Is(err, host.ErrStopping) || waited < 50*time.Millisecond || waited > 20*time.Second {
		t.Errorf("got %v after %v", err, waited)
	}
}

func TestADeadlineEndsADialThatIsUnderWay(t *testing.T) {
	address := deafAddress(t)
	h := newHost(t, configIn(t.TempDir()))
	start := h.Elapsed()
	_, err := h.Net().Dial(address, &host.Scope{Deadline: start + 50*time.Millisecond})
	waited := h.Elapsed() - start
	if !errors.Is(err, host.ErrTimeout) || waited < 50*time.Millisecond || waited > 20*time.Second {
		t.Errorf("got %v after %v", err, waited)
	}
}

// TestTheSeedFixesEveryStreamByName, and draws from one stream do not shift another.
func TestTheSeedFixesEveryStreamByName(t *testing.T) {
	config := configIn(t.TempDir())
	config.Seed = 7
	first, second := newHost(t, config), newHost(t, config)
	for range 100 {
		first.Rand("busy").Uint64()
	}
	busy := first.Rand("busy")
	a, b := first.Rand("stream"), second.Rand("stream")
	for range 100 {
		busy.Uint64()
		if a.Uint64() != b.Uint64() {
			t.Fatal("one seed and name gave two streams")
		}
	}
	config.Seed = 8
	if newHost(t, config).Rand("stream").Uint64() == second.Rand("stream").Uint64() {
		t.Error("two seeds gave one stream")
	}
	config.Seed = 0
	if newHost(t, config).Rand("stream").Uint64() == newHost(t, config).Rand("stream").Uint64() {
		t.Error("two hosts without a seed drew the same stream")
	}
}

// TestLogLinesReachTheLogger with their level, fields and the line that wrote them.
func TestLogLinesReachTheLogger(t *testing.T) {
	var written bytes.Buffer
	config := configIn(t.TempDir())
	config.Logger = slog.New(slog.NewTextHandler(&written, &slog.HandlerOptions{Level: slog.LevelInfo, AddSource: true}))
	h := newHost(t, config)
	h.Log(host.Debug, "too fine")
	h.Log(host.Warn, "disk fills", host.F("free", 12), host.F("error", host.ErrNoSpace))
	line := written.String()
	for _, want := range []string{"level=WARN", `msg="disk fills"`, "free=12", `error="no space left on the volume"`,
		"run_test.go:"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is missing in %q", want, line)
		}
	}
	if strings.Contains(line, "too fine") {
		t.Error("a line below the level was written")
	}
}

func TestConfigurationWithoutNamesIsRefused(t *testing.T) {
	for name, path := range map[string]string{"": "/tmp", "journal": ""} {
		if _, err := oshost.New(oshost.Config{Volumes: map[string]string{name: path}}); err == nil {
			t.Errorf("volume %q in %q was accepted", name, path)
		}
	}
}

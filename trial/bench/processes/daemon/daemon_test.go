package daemon_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
	"lakebed/trial/bench/processes/daemon"
	"lakebed/trial/bench/processes/settings"
)

// TestAnnouncementsAreReadAsTheyWereWritten, and other lines are refused.
func TestAnnouncementsAreReadAsTheyWereWritten(t *testing.T) {
	for _, a := range []daemon.Announcement{
		{Role: daemon.Bookie, Address: "127.0.0.1:3181", Start: daemon.New},
		{Role: daemon.Bookie, Address: "[::1]:3181", Start: daemon.Restarted},
		{Role: daemon.Bookie, Address: "b:1", Start: daemon.Recovered, Groups: 17},
		{Role: daemon.Metadata, Address: "127.0.0.1:2181", Start: daemon.InMemory},
	} {
		if got, err := daemon.ParseAnnouncement(a.String()); err != nil || got != a {
			t.Errorf("%v: %+v, %v", a, got, err)
		}
	}
	for _, line := range []string{"", "serving", "serving bookie a", "serving bookie a recovered", "serving bookie a recovered x",
		"serving bookie a new 3", "stopped bookie a new", "serving bookie a recovered -0"} {
		if got, err := daemon.ParseAnnouncement(line); !errors.Is(err, daemon.ErrAnnouncement) {
			t.Errorf("%q: %+v, %v", line, got, err)
		}
	}
}

// life is a daemon that runs in this process.
type life struct {
	stop context.CancelFunc
	said chan daemon.Announcement
	done chan error
}

func begin(run func(ctx context.Context, serving func(daemon.Announcement)) error) *life {
	ctx, stop := context.WithCancel(context.Background())
	l := &life{stop: stop, said: make(chan daemon.Announcement, 1), done: make(chan error, 1)}
	go func() { l.done <- run(ctx, func(a daemon.Announcement) { l.said <- a }) }()
	return l
}

// serving is the announcement, or the end that came instead.
func (l *life) serving() (daemon.Announcement, error) {
	select {
	case a := <-l.said:
		return a, nil
	case err := <-l.done:
		return daemon.Announcement{}, err
	case <-time.After(time.Minute):
		return daemon.Announcement{}, errors.New("it neither serves nor ends")
	}
}

func (l *life) end() error {
	l.stop()
	return <-l.done
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func small(t *testing.T) settings.Config {
	c := settings.Default()
	for _, assignment := range []string{"journalMaxSizeMB=16", "dbStorage_writeCacheMaxSizeMb=16"} {
		if err := settings.Assign(&c, assignment); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestABookieSaysHowItCameUpAndIsRefusedWithAdvice: a whole life, a second one, and the ways not to have a third.
func TestABookieSaysHowItCameUpAndIsRefusedWithAdvice(t *testing.T) {
	defer goleak.VerifyNone(t)
	store := begin(func(ctx context.Context, serving func(daemon.Announcement)) error {
		return daemon.RunMetadata(ctx, daemon.MetadataOptions{Listen: "127.0.0.1:0", Logger: quiet(), Serving: serving})
	})
	at, err := store.serving()
	if err != nil || at.Start != daemon.InMemory {
		t.Fatal(at, err)
	}
	options := daemon.BookieOptions{
		Data: t.TempDir(), Address: freeAddress(t), Metadata: []string{at.Address}, Settings: small(t), Logger: quiet(),
	}
	run := func(o daemon.BookieOptions) *life {
		return begin(func(ctx context.Context, serving func(daemon.Announcement)) error {
			o.Serving = serving
			return daemon.RunBookie(ctx, o)
		})
	}
	refuses := func(what string, o daemon.BookieOptions, class error, advice string) {
		t.Helper()
		a, err := run(o).serving()
		if !errors.Is(err, class) || !strings.Contains(daemon.Advice(err), advice) {
			t.Errorf("%s: %v, %v, advice %q", what, a, err, daemon.Advice(err))
		}
	}
	refuses("no cluster", options, metadata.ErrNotInitialized, "--initialize")
	options.Initialize = true
	first := run(options)
	if a, err := first.serving(); err != nil || a.Start != daemon.New || a.Address != options.Address {
		t.Fatal(a, err)
	}
	second := options
	second.Address = freeAddress(t)
	refuses("a directory that is in use", second, host.ErrLocked, "another --data")
	if err := first.end(); err != nil {
		t.Fatal(err)
	}
	again := run(options)
	if a, err := again.serving(); err != nil || a.Start != daemon.Restarted {
		t.Error(a, err)
	}
	if err := again.end(); err != nil {
		t.Error(err)
	}
	wiped := options
	wiped.Data = t.TempDir()
	refuses("other directories", wiped, bookie.ErrCookie, "give it back its own")
	refuses("another name", second, bookie.ErrCookie, "--address")
	if err := store.end(); err != nil {
		t.Error(err)
	}
}

// TestAStopThatHangsIsGivenUp: a task of the bookie never comes back, as one that waits for a disk which does not answer.
// The end names it.
func TestAStopThatHangsIsGivenUp(t *testing.T) {
	defer goleak.VerifyNone(t)
	store := begin(func(ctx context.Context, serving func(daemon.Announcement)) error {
		return daemon.RunMetadata(ctx, daemon.MetadataOptions{Listen: "127.0.0.1:0", Logger: quiet(), Serving: serving})
	})
	at, err := store.serving()
	if err != nil {
		t.Fatal(err)
	}
	options := daemon.BookieOptions{
		Data: t.TempDir(), Address: freeAddress(t), Metadata: []string{at.Address}, Initialize: true, Settings: small(t), Logger: quiet(),
	}
	options.Settings.StopMax = 300 * time.Millisecond
	answer := make(chan struct{})
	hangs := begin(func(ctx context.Context, serving func(daemon.Announcement)) error {
		options.Serving = func(a daemon.Announcement) {
			serving(a)
			<-answer
		}
		return daemon.RunBookie(ctx, options)
	})
	if _, err := hangs.serving(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	err = hangs.end()
	if took := time.Since(begun); took < options.Settings.StopMax || took > 30*time.Second {
		t.Errorf("given up after %v", took)
	}
	if !errors.Is(err, daemon.ErrStopOverdue) || !strings.Contains(err.Error(), "registration") || !strings.Contains(daemon.Advice(err), "stopTimeout") {
		t.Errorf("%v, advice %q", err, daemon.Advice(err))
	}
	close(answer) // what was given up comes to its end, and lets go of the directory
	options.Settings.StopMax, options.Serving = time.Minute, nil
	for ended, deadline := false, time.Now().Add(time.Minute); !ended && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		next := begin(func(ctx context.Context, serving func(daemon.Announcement)) error {
			o := options
			o.Serving = serving
			return daemon.RunBookie(ctx, o)
		})
		_, err := next.serving()
		if ended = !errors.Is(err, host.ErrLocked); ended && err == nil {
			err = next.end()
		}
		if ended && err != nil {
			t.Errorf("the next start: %v", err)
		}
	}
	if err := store.end(); err != nil {
		t.Error(err)
	}
}

// TestAnAddressThatIsTakenIsExplained.
func TestAnAddressThatIsTakenIsExplained(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = daemon.RunMetadata(t.Context(), daemon.MetadataOptions{Listen: l.Addr().String(), Logger: quiet()})
	if err == nil || !strings.Contains(daemon.Advice(err), "another process listens there") {
		t.Errorf("%v: %q", err, daemon.Advice(err))
	}
	if daemon.Advice(nil) != "" || daemon.Advice(errors.New("a riddle")) != "" {
		t.Error("advice where there is none")
	}
}

// TestOptionsThatCannotWorkTouchNothing.
func TestOptionsThatCannotWorkTouchNothing(t *testing.T) {
	good := daemon.BookieOptions{Data: "absent", Address: "127.0.0.1:1", Metadata: []string{"127.0.0.1:2"}, Settings: small(t), Logger: quiet()}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*daemon.BookieOptions){
		"data":     func(o *daemon.BookieOptions) { o.Data = "" },
		"metadata": func(o *daemon.BookieOptions) { o.Metadata = nil },
		"address":  func(o *daemon.BookieOptions) { o.Address = "a b" },
		"cache":    func(o *daemon.BookieOptions) { o.Settings.Node.Store.WriteCacheBytesMax = 0 },
		"session":  func(o *daemon.BookieOptions) { o.Settings.SessionTimeout = 0 },
		"stop":     func(o *daemon.BookieOptions) { o.Settings.StopMax = 0 },
	} {
		o := good
		if change(&o); o.Validate() == nil || daemon.RunBookie(t.Context(), o) == nil {
			t.Errorf("a wrong %s passes", what)
		}
	}
	if _, err := os.Stat("absent"); err == nil {
		t.Error("a directory was made")
	}
}

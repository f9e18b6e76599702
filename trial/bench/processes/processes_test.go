package processes_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/trial/bench/processes"
	"lakebed/trial/bench/processes/daemon"
	"lakebed/trial/bench/processes/settings"
)

// TestMain lets the test program be the processes of a cluster: what is tested here is how they are started and killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "bookie", "metadata":
			os.Exit(serve(os.Args[1], os.Args[2:]))
		case "cluster":
			os.Exit(holdCluster(os.Args[2]))
		case "refuse":
			fmt.Fprintln(os.Stderr, "no wish to serve")
			os.Exit(3)
		}
	}
	os.Exit(m.Run())
}

// serve is a daemon with the flags that a cluster passes.
func serve(role string, arguments []string) int {
	flags := flag.NewFlagSet(role, flag.ExitOnError)
	o := daemon.BookieOptions{Settings: settings.Default(), Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	listen := flags.String("listen", "", "")
	metadata := flags.String("metadata", "", "")
	flags.StringVar(&o.Data, "data", "", "")
	flags.StringVar(&o.Address, "address", "", "")
	flags.BoolVar(&o.Initialize, "initialize", false, "")
	flags.Func("set", "", func(s string) error { return settings.Assign(&o.Settings, s) })
	if err := flags.Parse(arguments); err != nil {
		return 2
	}
	ctx, release := oshost.UntilTerminated(context.Background())
	defer release()
	say := func(a daemon.Announcement) { fmt.Println(a) }
	err := error(nil)
	if role == "metadata" {
		err = daemon.RunMetadata(ctx, daemon.MetadataOptions{Listen: *listen, Logger: o.Logger, Serving: say})
	} else {
		o.Metadata, o.Serving = []string{*metadata}, say
		err = daemon.RunBookie(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	return 0
}

// holdCluster starts a cluster, prints the process numbers of its children, and waits to be killed.
func holdCluster(dir string) int {
	c, err := processes.Start(context.Background(), processes.Options{Dir: dir, Bookies: 1, Settings: small()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	fmt.Println(c.BookiePID(0), c.MetadataAddress(), c.BookieAddress(0))
	select {}
}

func small() map[string]string {
	return map[string]string{"journalMaxSizeMB": "16", "dbStorage_writeCacheMaxSizeMb": "16"}
}

func start(t *testing.T, bookies int) *processes.Cluster {
	t.Helper()
	c, err := processes.Start(t.Context(), processes.Options{Dir: t.TempDir(), Bookies: bookies, Settings: small()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// withClient runs f with a client in this process.
func withClient(t *testing.T, c *processes.Cluster, f func(*client.Client) error) {
	t.Helper()
	err := oshost.Run(t.Context(), oshost.Config{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, func(h host.Host) error {
		store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(c.MetadataAddress()))
		if err != nil {
			return err
		}
		defer store.Close()
		cl, err := client.New(h, h.Root(), store, client.DefaultConfig())
		if err != nil {
			return err
		}
		defer cl.Close()
		return f(cl)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWhatWasAcknowledgedSurvivesTheDeathOfAllBookies, at addresses that stay theirs, and they say that they recovered.
func TestWhatWasAcknowledgedSurvivesTheDeathOfAllBookies(t *testing.T) {
	c := start(t, 3)
	addresses := map[string]bool{}
	for i := range c.Bookies() {
		addresses[c.BookieAddress(i)] = true
		if said := c.Announced(i); said.Start != daemon.New || said.Address != c.BookieAddress(i) || !c.Alive(i) {
			t.Errorf("bookie %d: %v", i, said)
		}
	}
	if len(addresses) != 3 {
		t.Errorf("addresses %v", addresses)
	}
	withClient(t, c, func(cl *client.Client) error {
		w, err := cl.Create(client.DefaultCreateOptions())
		if err != nil {
			return err
		}
		if _, err := w.AppendOne([]byte("kept")); err != nil {
			return err
		}
		if err := c.Kill(0, 1, 2); err != nil {
			return err
		}
		w.Abandon()
		if c.Alive(0) || c.Kill(0) == nil || c.Stop(0) == nil {
			t.Error("a dead bookie was killed or stopped again")
		}
		if err := c.Restart(t.Context(), 0, 1, 2); err != nil {
			return err
		}
		if said := c.Announced(1); said.Start != daemon.Recovered || !addresses[said.Address] {
			t.Errorf("after a kill: %v", said)
		}
		r, err := cl.Open(w.ID(), client.OpenOptions{})
		if err != nil {
			return err
		}
		defer r.Close()
		entries, err := r.Read(0, 0)
		if err != nil {
			return err
		}
		defer entries.Release()
		if string(entries.List[0].Payload) != "kept" {
			t.Errorf("read %q", entries.List[0].Payload)
		}
		return nil
	})
	if err := errors.Join(c.Stop(2), c.Restart(t.Context(), 2)); err != nil {
		t.Fatal(err)
	}
	if said := c.Announced(2); said.Start != daemon.Restarted {
		t.Errorf("after a stop: %v", said)
	}
	if !errors.Is(c.Restart(t.Context(), 2), processes.ErrNoBookie) || !errors.Is(c.Kill(3), processes.ErrNoBookie) {
		t.Error("a bookie that runs was started, or one that is none was killed")
	}
}

// TestUsageCountsTheDead: processor time of processes that were killed is not forgotten, and it never falls.
func TestUsageCountsTheDead(t *testing.T) {
	c := start(t, 1)
	before := c.Usage()
	if before.Total() <= 0 || len(before.Bookies) != 1 {
		t.Fatalf("%+v", before)
	}
	if err := errors.Join(c.Kill(0), c.Restart(t.Context(), 0)); err != nil {
		t.Fatal(err)
	}
	if after := c.Usage(); after.Bookies[0] <= before.Bookies[0] {
		t.Errorf("%v after %v: a start takes more than nothing", after.Bookies[0], before.Bookies[0])
	}
}

// TestADeadBookiesPortStaysItsOwn: nobody who asks for a free port is given it, and nobody answers there.
func TestADeadBookiesPortStaysItsOwn(t *testing.T) {
	c := start(t, 1)
	if err := c.Kill(0); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.DialTimeout("tcp", c.BookieAddress(0), time.Second); err == nil {
		conn.Close()
		t.Error("somebody answers for a dead bookie")
	}
	for range 200 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if l.Addr().String() == c.BookieAddress(0) {
			t.Fatal("its port was given away")
		}
	}
	if err := c.Restart(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

// TestNoChildOutlivesAKilledParent, which had no chance to clean up.
func TestNoChildOutlivesAKilledParent(t *testing.T) {
	parent := exec.Command(os.Args[0], "cluster", t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(line)
	pid, err := strconv.Atoi(words[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed
	for _, address := range words[1:] {
		if !within(10*time.Second, func() bool {
			conn, err := net.DialTimeout("tcp", address, time.Second)
			if err == nil {
				conn.Close()
			}
			return err != nil
		}) {
			t.Errorf("somebody still answers at %s", address)
		}
	}
	if !within(10*time.Second, func() bool { return gone(pid) }) {
		t.Errorf("bookie %d still runs", pid)
	}
}

// gone says whether a process has ended. It may wait for somebody to take note of that.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(text), ") Z ")
}

func within(d time.Duration, holds func() bool) bool {
	for until := time.Now().Add(d); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return true
		}
	}
	return false
}

// TestAChildThatDoesNotServeIsAnErrorWithItsWords, and leaves nothing running.
func TestAChildThatDoesNotServeIsAnErrorWithItsWords(t *testing.T) {
	refuse := func(role daemon.Role, _ int, line []string) []string {
		if role == daemon.Bookie {
			return []string{line[0], "refuse"}
		}
		return line
	}
	_, err := processes.Start(t.Context(), processes.Options{Dir: t.TempDir(), Bookies: 2, Command: refuse})
	if !errors.Is(err, processes.ErrEnded) || !strings.Contains(err.Error(), "no wish to serve") {
		t.Errorf("%v", err)
	}
	_, err = processes.Start(t.Context(), processes.Options{Dir: t.TempDir(), Bookies: 1, Executable: filepath.Join(t.TempDir(), "absent")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	_, err = processes.Start(t.Context(), processes.Options{Dir: t.TempDir(), Bookies: 1, Settings: map[string]string{"flushIntervall": "3"}})
	if !errors.Is(err, processes.ErrEnded) || !strings.Contains(err.Error(), "flushInterval?") {
		t.Errorf("%v", err)
	}
	for _, o := range []processes.Options{{Bookies: 1}, {Dir: "x"}, {Dir: "x", Bookies: 1000}} {
		if _, err := processes.Start(t.Context(), o); err == nil {
			t.Errorf("%+v passes", o)
		}
	}
}

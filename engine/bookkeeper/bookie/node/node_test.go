package node_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/sim"
)

// TestABookieComesAndGoes: it serves once it is registered, is gone once it has ended, and comes back with what it had.
func TestABookieComesAndGoes(t *testing.T) {
	for seed := range uint64(10) {
		c := newCluster(t, seed)
		c.run(func(h host.Host, store metadata.Store) error {
			for life := range ledger.EntryID(3) {
				c.startBookie(nil)
				if err := registered(h, store); err != nil {
					return err
				}
				if err := add(h, bookieAddr, 1, life); err != nil {
					return err
				}
				if err := c.stop(h); err != nil {
					return err
				}
				if has(store, bookieKey) {
					return errors.New("the bookie has ended and is still registered")
				}
			}
			return nil
		})
		if c.marks[node.PointCookieMade] != 1 || c.marks[node.PointServing] != 3 || c.marks[node.PointEnded] != 3 {
			t.Errorf("seed %d: marks %v", seed, c.marks)
		}
	}
}

// TestABookieWithoutItsDirectoriesIsRefused, whichever of them are gone, also when it is started again and again: nothing
// is written to them that would make them look right.
func TestABookieWithoutItsDirectoriesIsRefused(t *testing.T) {
	for _, wiped := range [][]string{{bookie.JournalVolume}, {bookie.LedgerVolume}, volumes()} {
		c := newCluster(t, 1)
		c.run(func(h host.Host, store metadata.Store) error {
			c.startBookie(nil)
			if err := errors.Join(registered(h, store), c.stop(h)); err != nil {
				return err
			}
			for _, volume := range wiped {
				c.bookie.Disk(volume).Replace(0)
			}
			for range 3 {
				c.startBookie(nil)
				if err := c.ended(h, bookie.ErrCookie); err != nil || !bookie.IsRefusal(c.end) {
					return fmt.Errorf("without %v: %w", wiped, err)
				}
				if has(store, bookieKey) {
					return errors.New("it was registered")
				}
			}
			if len(wiped) < len(volumes()) {
				return nil // the other directory must go, too, before it can start anew
			}
			// An operator who says that what it held is elsewhere can have it start anew.
			cookies := metadata.NewCookies(h, h.Root(), store, metadata.Layout{Root: "/ledgers"}, metadata.DefaultRetry())
			_, version, err := cookies.Read(bookieAddr, nil)
			if err := errors.Join(err, cookies.Delete(bookieAddr, version, nil)); err != nil {
				return err
			}
			c.startBookie(nil)
			return errors.Join(registered(h, store), c.stop(h))
		})
		if c.marks[node.PointCookieRefused] != 3 {
			t.Errorf("without %v: %d refusals", wiped, c.marks[node.PointCookieRefused])
		}
	}
}

// stamp writes a cookie into a bookie's directories, as another one would have.
func stamp(h host.Host, change func(*bookie.Cookie)) error {
	for _, volume := range volumes() {
		dir, err := h.Disk(volume)
		if err != nil {
			return err
		}
		f, err := dir.Open(bookie.CookieFile)
		if err != nil {
			return err
		}
		text := make([]byte, 1<<10)
		n, err := f.ReadAt(text, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		cookie, err := bookie.DecodeCookie(text[:n])
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		change(&cookie)
		if err := host.ReplaceFile(dir, bookie.CookieFile, cookie.Encode()); err != nil {
			return err
		}
	}
	return nil
}

// TestDirectoriesOfAnotherLifeAreRefused: those of another bookie, of another cluster, and of this bookie before it was
// wiped and started anew, which upstream takes.
func TestDirectoriesOfAnotherLifeAreRefused(t *testing.T) {
	for name, change := range map[string]func(*bookie.Cookie){
		"bookie":  func(c *bookie.Cookie) { c.BookieHost = "bookie-1:3181" },
		"cluster": func(c *bookie.Cookie) { c.InstanceID = "other/0123456789abcdef" },
		"life":    func(c *bookie.Cookie) { c.InstanceID = c.InstanceID[:len(c.InstanceID)-16] + "0123456789abcdef" },
		"place":   func(c *bookie.Cookie) { c.LedgerDirs = "2\tledger\tother" },
	} {
		c := newCluster(t, 1)
		c.run(func(h host.Host, store metadata.Store) error {
			c.startBookie(nil)
			if err := errors.Join(registered(h, store), c.stop(h)); err != nil {
				return err
			}
			c.startBookie(func(h host.Host) error { return stamp(h, change) })
			return c.ended(h, bookie.ErrCookie)
		})
		if c.marks[node.PointCookieRefused] != 1 {
			t.Errorf("another %s: %d refusals", name, c.marks[node.PointCookieRefused])
		}
	}
}

// TestABookieThatCrashedInItsFirstStartComesUp: wherever the crash hit, the next start goes through, and after that a
// wiped disk is refused. In particular between the directories' cookies and the store's.
func TestABookieThatCrashedInItsFirstStartComesUp(t *testing.T) {
	between, resumed, started := 0, 0, 0
	seeds := uint64(160)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		c := newCluster(t, seed)
		crash := func() {
			if c.exits == 0 {
				c.bookie.Crash(survival(seed))
			}
		}
		// Every other seed crashes exactly between the cookies; the others at a time of the start, in steps.
		if seed%2 == 0 {
			c.onMark = func(e host.Event) {
				if e.Name == node.PointBetween {
					crash()
				}
			}
		}
		c.run(func(h host.Host, store metadata.Store) error {
			c.startBookie(nil)
			if seed%2 == 1 {
				h.Root().Sleep(time.Duration(seed) * 150 * time.Microsecond)
				started += min(1, c.marks[node.PointServing])
				crash()
			}
			if err := until(h, "the bookie has crashed", func() bool { return c.exits == 1 }); err != nil {
				return err
			}
			between += min(1, c.marks[node.PointBetween]-c.marks[node.PointCookieMade])
			c.startBookie(nil)
			if err := errors.Join(registered(h, store), add(h, bookieAddr, 1, 0), c.stop(h)); err != nil {
				return err
			}
			c.bookie.Disk(bookie.LedgerVolume).Replace(0)
			c.startBookie(nil)
			return c.ended(h, bookie.ErrCookie)
		})
		resumed += c.marks[node.PointCookieResumed]
	}
	if !testing.Short() && (between < 80 || resumed < 80 || started == 0 || started == 80) {
		t.Errorf("weak: %d crashes between the cookies, %d resumed, %d of 80 after the start", between, resumed, started)
	}
	t.Logf("%d crashes between the cookies, %d resumed, %d of 80 timed ones after the start", between, resumed, started)
}

// TestABookieWaitsForTheMetadataStore, and can be stopped while it waits.
func TestABookieWaitsForTheMetadataStore(t *testing.T) {
	for seed := range uint64(10) {
		c := newCluster(t, seed)
		c.storeDelay = 3 * time.Minute
		c.startBookie(nil)
		c.w.At(time.Minute, func() { c.bookie.Stop() })
		c.w.At(2*time.Minute, func() {
			if c.exits != 1 || c.end != nil || c.marks[node.PointServing] != 0 {
				t.Errorf("seed %d: stopped while waiting: %d exits, %v, %v", seed, c.exits, c.end, c.marks)
			}
			c.startBookie(nil)
		})
		c.run(func(h host.Host, store metadata.Store) error {
			return errors.Join(registered(h, store), add(h, bookieAddr, 1, 0), c.stop(h))
		})
		if c.marks[node.PointStoreAwaited] == 0 {
			t.Errorf("seed %d: it never waited: %v", seed, c.marks)
		}
	}
}

// TestABookieServesWithoutTheMetadataStoreAndRegistersAgain: its session expires meanwhile.
func TestABookieServesWithoutTheMetadataStoreAndRegistersAgain(t *testing.T) {
	for seed := range uint64(10) {
		c := newCluster(t, seed)
		c.run(func(h host.Host, store metadata.Store) error {
			c.startBookie(nil)
			if err := registered(h, store); err != nil {
				return err
			}
			c.w.Net().Partition("bookie-0", "metadata", false)
			if err := until(h, "the bookie's session has expired", func() bool { return !has(store, bookieKey) }); err != nil {
				return err
			}
			if err := add(h, bookieAddr, 1, 0); err != nil {
				return err
			}
			c.w.Net().Heal("bookie-0", "metadata")
			return errors.Join(registered(h, store), add(h, bookieAddr, 1, 1), c.stop(h))
		})
		if c.marks[metadata.PointReregistered]+c.marks[metadata.PointRegisteredLate] == 0 { // late: its first answer was lost
			t.Errorf("seed %d: never registered again: %v", seed, c.marks)
		}
	}
}

// TestAFailedSyncEndsTheBookie, and takes it out of the clients' sight.
func TestAFailedSyncEndsTheBookie(t *testing.T) {
	for seed := range uint64(10) {
		c := newCluster(t, seed)
		c.run(func(h host.Host, store metadata.Store) error {
			c.startBookie(nil)
			if err := registered(h, store); err != nil {
				return err
			}
			c.bookie.Disk(bookie.JournalVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
				if op.Kind == sim.DiskSync {
					return sim.DiskEffect{Err: host.ErrIO}
				}
				return sim.DiskEffect{}
			})
			if err := add(h, bookieAddr, 1, 0); err == nil {
				return errors.New("an add was acknowledged")
			}
			if err := c.ended(h, host.ErrIO); err != nil {
				return err
			}
			if has(store, bookieKey) {
				return errors.New("it is still registered")
			}
			return nil
		})
	}
}

// TestAFullDiskMakesABookieReadOnly, and room makes it writable again; between the marks it stays what it is.
func TestAFullDiskMakesABookieReadOnly(t *testing.T) {
	const capacity = 16 << 20
	c := newCluster(t, 1)
	for _, volume := range volumes() {
		c.bookie.Disk(volume).Replace(capacity)
	}
	ballast := int64(0) // only one task of a world runs at a time
	c.run(func(h host.Host, store metadata.Store) error {
		c.startBookie(func(h host.Host) error {
			dir, err := h.Disk(bookie.LedgerVolume)
			if err != nil {
				return err
			}
			f, err := dir.Create("ballast")
			if err != nil {
				return err
			}
			h.Root().Go("ballast", func() {
				for h.Root().Sleep(100 * time.Millisecond) {
					if err := errors.Join(f.Truncate(0), f.Allocate(0, ballast)); err != nil {
						t.Error(err)
					}
				}
			})
			return nil
		})
		if err := registered(h, store); err != nil {
			return err
		}
		for range 2 {
			ballast = capacity * 96 / 100
			if err := until(h, "it is read-only", func() bool { return has(store, readerKey) && !has(store, bookieKey) }); err != nil {
				return err
			}
			if err := add(h, bookieAddr, 1, 0); !errors.Is(err, channel.ErrReadOnly) {
				return fmt.Errorf("an add to a read-only bookie: %v", err)
			}
			ballast = capacity * 91 / 100
			h.Root().Sleep(10 * time.Second)
			if !has(store, readerKey) || has(store, bookieKey) {
				return errors.New("it became writable between the marks")
			}
			ballast = capacity / 2
			if err := until(h, "it is writable", func() bool { return has(store, bookieKey) && !has(store, readerKey) }); err != nil {
				return err
			}
		}
		return c.stop(h)
	})
	if c.marks[node.PointDiskFull] != 2 || c.marks[node.PointDiskRoom] != 2 {
		t.Errorf("marks %v", c.marks)
	}
}

// TestWrongSettingsAreTold.
func TestWrongSettingsAreTold(t *testing.T) {
	if err := small().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*node.Config){
		"bookie":    func(c *node.Config) { c.Store.BookieID = "a b" },
		"batches":   func(c *node.Config) { c.Server.BatchBytesMax = c.Store.BatchBytesMax + 1 },
		"root":      func(c *node.Config) { c.Registration.Layout.Root = "ledgers" },
		"retry":     func(c *node.Config) { c.Retry.AttemptsMax = 0 },
		"start":     func(c *node.Config) { c.StartTimeout = 0 },
		"close":     func(c *node.Config) { c.CloseTimeout = 0 },
		"settle":    func(c *node.Config) { c.SettleTimeout = 0 },
		"limbo":     func(c *node.Config) { c.LimboLedgersMax = -1 },
		"disk":      func(c *node.Config) { c.DiskCheckInterval = 0 },
		"marks":     func(c *node.Config) { c.DiskUsageLowWaterMark = 0.96 },
		"threshold": func(c *node.Config) { c.DiskUsageThreshold = 1.01 },
		"server":    func(c *node.Config) { c.Server.ReadTasks = 0 },
		"store":     func(c *node.Config) { c.Store.CheckpointInterval = 0 },
		"pauses":    func(c *node.Config) { c.Registration.PauseMax = 0 },
	} {
		c := small()
		if change(&c); c.Validate() == nil {
			t.Errorf("a wrong %s passes", name)
		}
	}
}

// TestABookieOnThisMachine: a whole life, and a second one, with real goroutines, files and sockets.
func TestABookieOnThisMachine(t *testing.T) {
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	dirs := map[string]string{bookie.JournalVolume: t.TempDir(), bookie.LedgerVolume: t.TempDir()}
	h, err := oshost.New(oshost.Config{Seed: 1, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	// The server has a host of its own: it lets go of a connection's memory a moment after the client has left.
	serverHost, err := oshost.New(oshost.Config{Seed: 2, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := serverHost.Net().Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := service.Serve(serverHost, serverHost.Root(), listener, service.DefaultServerConfig())
	if err != nil {
		t.Fatal(err)
	}
	err = withStore(h, s.Addr(), func(store metadata.Store) error {
		view := metadata.WatchBookies(h, h.Root(), store, metadata.DefaultBookiesConfig())
		defer view.Close()
		address := freeAddress(t)
		for life := range ledger.EntryID(2) {
			config := small()
			config.Store.BookieID = address
			bookieHost, err := oshost.New(oshost.Config{Volumes: dirs, Seed: 1, Logger: logger})
			if err != nil {
				return err
			}
			ended := make(chan error, 1)
			go func() {
				ended <- withStore(bookieHost, s.Addr(), func(store metadata.Store) error { return node.Run(bookieHost, store, config) })
			}()
			if err := view.Await(1, host.Within(h, nil, 10*time.Second)); err != nil {
				return err
			}
			if err := add(h, config.Store.BookieID, 1, life); err != nil {
				return err
			}
			bookieHost.Root().Stop()
			if err := errors.Join(<-ended, bookieHost.Close(), emptied(h, view)); err != nil {
				return err
			}
		}
		return nil
	})
	s.Close()
	if used := serverHost.Memory().InUse(); used != 0 {
		t.Errorf("the server left %d bytes in use", used)
	}
	if err := errors.Join(err, h.Close(), serverHost.Close()); err != nil {
		t.Fatal(err)
	}
}

// emptied waits until a view shows no bookie.
func emptied(h host.Host, view *metadata.Bookies) error {
	return until(h, "the view is empty", func() bool { return len(view.Writable()) == 0 })
}

// freeAddress is an address that nobody listens on.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

package commitlog_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/keyindex"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/sim"
)

// indexedConfig has files of the key index that hold two dozen entries behind their slots, so that some are complete, and all but those of the
// newest sector lie in them.
func indexedConfig() commitlog.Config {
	config := smallConfig(commitlog.FlushGroup)
	config.IndexSlots, config.IndexEntries, config.IndexSnapshotEntries = 113, 150, 60 // the entries begin where a sector does
	return config
}

// ownKeyed appends the next message, which has a key of its own.
func (b *book) ownKeyed() error { return b.add("orders", 0) }

// mustFind looks up each key, and compares what comes with all messages that have it. told: an answer may be ErrCorrupt instead. It returns
// how often it was.
func (b *book) mustFind(told bool) (damaged int, err error) {
	if err := b.settled(); err != nil {
		return 0, err
	}
	for key := range 7 {
		found, err := b.store.Query("orders", keyOf(key), 0, 1<<62, 1000)
		if told && errors.Is(err, commitlog.ErrCorrupt) {
			damaged++
			continue
		}
		if err != nil {
			return damaged, err
		}
		want := (b.sent["orders/0"] - key + 6) / 7 // see keyOf
		if len(found) != want {
			return damaged, fmt.Errorf("%s leads to %d messages of %d", keyOf(key), len(found), want)
		}
	}
	return damaged, nil
}

func indexDir(h host.Host) (host.Dir, error) {
	root, err := h.Disk(commitlog.StoreVolume)
	if err != nil {
		return nil, err
	}
	return root.Sub("index")
}

// indexFiles are the names of the files of the key index, the snapshots' among them.
func (b *book) indexFiles() (names []string, err error) {
	dir, err := indexDir(b.h)
	if err != nil {
		return nil, err
	}
	infos, err := dir.List()
	for _, info := range infos {
		names = append(names, info.Name)
	}
	return names, err
}

// harm does something to a file of the key index on a disk that nobody uses.
type harm struct {
	name string
	do   func(dir host.Dir, file string) error
}

func editing(f func(file host.File) error) func(dir host.Dir, file string) error {
	return func(dir host.Dir, name string) error {
		file, err := dir.Open(name)
		if err != nil {
			return err
		}
		return errors.Join(f(file), file.Sync(), file.Close())
	}
}

// wholeHarms is how many of harms are more than a flipped byte.
const wholeHarms = 5

// harms are what may become of a file. Header, slots and entries begin at 0, 40 and 512-20.
func harms() []harm {
	all := []harm{
		{"missing", func(dir host.Dir, file string) error { return errors.Join(dir.Remove(file), dir.SyncDir()) }},
		{"cut to nothing", editing(func(f host.File) error { return f.Truncate(0) })},
		{"cut in its header", editing(func(f host.File) error { return f.Truncate(17) })},
		{"cut in its slots", editing(func(f host.File) error { return f.Truncate(300) })},
		{"cut in its entries", editing(func(f host.File) error {
			size, err := f.Size()
			return errors.Join(err, f.Truncate(size-21))
		})},
	}
	for _, at := range []int64{0, 7, 15, 20, 23, 31, 35, 39, 43, 63, 131, 252, 300, 491, 500, 512 + 3, 512 + 8, 512 + 11, 512 + 15, 512 + 19, 512 + 20*40 + 2, 512 + 20*40 + 11, 512 + 20*120 + 3, 512 + 20*120 + 18} {
		all = append(all, harm{fmt.Sprintf("with byte %d flipped", at), editing(func(f host.File) error {
			if size, err := f.Size(); err != nil || size <= at {
				return err
			}
			return flip(f, at*8+2)
		})})
	}
	return all
}

// TestAKeyIndexThatIsLostOrDamagedIsMadeAnewOrTold: each of its files is missing, cut, or has a byte flipped, when a store starts that was closed, or
// was killed. The start goes on, no message and no count of a queue is lost, and every look-up is right or tells the damage.
func TestAKeyIndexThatIsLostOrDamagedIsMadeAnewOrTold(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	remade, told := int64(0), 0
	for _, clean := range []bool{true, false} {
		b := newBook(t, indexedConfig())
		var saved kept
		var names []string
		all := harms()
		doing := func(life int) (file int, h *harm) { return (life - 2) / len(all), &all[(life-2)%len(all)] }
		b.before = func(life int, h host.Host) (err error) {
			if life == 1 {
				return nil
			}
			if life == 2 {
				if saved, err = keep(h); err != nil {
					return err
				}
			}
			if err := saved.restore(h); err != nil {
				return err
			}
			dir, err := indexDir(h)
			file, harm := doing(life)
			return errors.Join(err, harm.do(dir, names[file]))
		}
		lives := []func() error{func() error {
			for range 440 {
				if err := b.ownKeyed(); err != nil {
					return err
				}
			}
			err := errors.Join(b.settled(), b.store.CreateTopic("last", 1)) // has a checkpoint made
			if err != nil {
				return err
			}
			if names, err = b.indexFiles(); err != nil || len(names) != 5 {
				return errors.Join(err, fmt.Errorf("files %q", names))
			}
			if !clean {
				b.node.Crash(sim.KillProcess())
			}
			return nil
		}}
		for range 5 * len(all) { // two complete files, the one being filled, two snapshots
			lives = append(lives, func() error {
				n, err := b.mustFind(true)
				told += n
				file, h := doing(b.node.Epoch())
				if (b.node.Epoch()-2)%len(all) < wholeHarms {
					err = errors.Join(err, b.mustHold(true))
				} else if low, high, err2 := b.store.Bounds("orders", 0); low != 0 || high != int64(b.sent["orders/0"]) || err2 != nil {
					err = errors.Join(err, err2, fmt.Errorf("the queue goes from %d to %d", low, high))
				}
				if err != nil {
					return fmt.Errorf("file %s %s, clean stop %v: %w", names[file], h.name, clean, err)
				}
				return nil
			})
		}
		b.lives(lives...)
		remade += b.node.Visits(commitlog.PointIndexRemade)
	}
	t.Logf("%d starts made the index anew, %d look-ups told damage", remade, told)
	if remade < 60 || told == 0 {
		t.Errorf("only %d starts made the index anew, and %d look-ups told damage", remade, told)
	}
}

// kept is what checkpoints and key index have in their files. Log and queues stay as they are while nothing is appended.
type kept struct{ checkpoints, index map[string][]byte }

func keep(h host.Host) (k kept, err error) {
	root, err := h.Disk(commitlog.StoreVolume)
	if err != nil {
		return k, err
	}
	dir, err := indexDir(h)
	if err != nil {
		return k, err
	}
	if k.checkpoints, err = contents(root, slots); err != nil {
		return k, err
	}
	infos, err := dir.List()
	var names []string
	for _, info := range infos {
		names = append(names, info.Name)
	}
	if err == nil {
		k.index, err = contents(dir, names)
	}
	return k, err
}

func contents(dir host.Dir, names []string) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, name := range names {
		f, err := dir.Open(name)
		if err != nil {
			return nil, err
		}
		size, err := f.Size()
		p := make([]byte, size)
		if err == nil {
			_, err = host.ReadFull(f, p, 0)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		all[name] = p
	}
	return all, nil
}

func (k *kept) restore(h host.Host) error {
	root, err := h.Disk(commitlog.StoreVolume)
	if err != nil {
		return err
	}
	dir, err := indexDir(h)
	if err != nil {
		return err
	}
	infos, err := dir.List()
	for _, info := range infos {
		err = errors.Join(err, dir.Remove(info.Name))
	}
	for _, name := range host.SortedKeys(k.index) {
		err = errors.Join(err, host.ReplaceFile(dir, name, k.index[name]))
	}
	for _, name := range host.SortedKeys(k.checkpoints) {
		err = errors.Join(err, host.ReplaceFile(root, name, k.checkpoints[name]))
	}
	return err
}

// TestAKeyIndexThatWasSwitchedOffHasAllMessages: it is switched off and on again, the process is killed at the end of each life or not, and a
// checkpoint rots, so that a start may go by one whose files of the index a later start has removed. Each look-up finds all messages, also
// those that were stored meanwhile.
func TestAKeyIndexThatWasSwitchedOffHasAllMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	remade := int64(0)
	for pattern := range 1 << 3 { // bits: killed or closed
		for _, spoilt := range [][]string{nil, slots[:1], slots[1:], slots} {
			b := newBook(t, indexedConfig())
			on := func(life int) bool { return life != 2 }
			b.before = func(life int, _ host.Host) error {
				b.config.KeyIndex = on(life)
				if life > 2 {
					for _, name := range spoilt {
						spoil(b.node, name, 20)
					}
				}
				return nil
			}
			life := func(n, messages int) func() error {
				return func() error {
					if on(n) {
						if _, err := b.mustFind(false); err != nil {
							return fmt.Errorf("%03b, %v spoilt: %w", pattern, spoilt, err)
						}
					}
					for range messages {
						if err := b.ownKeyed(); err != nil {
							return err
						}
					}
					err := errors.Join(b.mustHold(true), b.store.CreateTopic(fmt.Sprint("made-in-", n), 1))
					if pattern>>(n-1)&1 == 1 {
						b.node.Crash(sim.KillProcess())
					}
					return err
				}
			}
			b.lives(life(1, 170), life(2, 20), life(3, 150), life(4, 0))
			remade += b.node.Visits(commitlog.PointIndexRemade)
			b.world.Release()
		}
	}
	if remade < 24 {
		t.Errorf("only %d starts made the index anew", remade)
	}
}

// TestAStartWithoutKeysReadsNoLog: an index to which nothing was ever added lacks nothing.
func TestAStartWithoutKeysReadsNoLog(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	b := newBook(t, indexedConfig())
	b.lives(func() error {
		for range 40 {
			if _, err := b.store.Append(message.Message{Topic: []byte("plain"), Body: make([]byte, 500)}); err != nil {
				return err
			}
		}
		return nil
	}, func() error { return nil }, func() error { return nil })
	if n := b.node.Visits(commitlog.PointIndexRemade); n != 0 {
		t.Errorf("%d starts read the log for the key index", n)
	}
}

// TestAStartReadsTheLogBehindTheSoundFilesOfTheKeyIndexOnly: the one that is being filled is lost.
func TestAStartReadsTheLogBehindTheSoundFilesOfTheKeyIndexOnly(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	b := newBook(t, indexedConfig())
	var first, end, read int64
	counting := false
	b.node.Disk(commitlog.StoreVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
		if counting && op.Kind == sim.DiskRead && strings.HasPrefix(op.Path, "commitlog/") {
			read += op.Length
		}
		return sim.DiskEffect{}
	})
	b.before = func(life int, h host.Host) error {
		if life == 1 {
			return nil
		}
		names, err := b.indexFiles()
		if err != nil {
			return err
		}
		dir, err := indexDir(h)
		counting = true
		first, _ = strconv.ParseInt(names[2], 10, 64)
		return errors.Join(err, dir.Remove(names[2]))
	}
	b.lives(func() error {
		for range 440 {
			if err := b.ownKeyed(); err != nil {
				return err
			}
		}
		err := b.settled()
		end = b.store.Stats().Written
		return err
	}, func() error {
		counting = false
		_, err := b.mustFind(false)
		return err
	})
	if limit := end - first + 4*b.config.GroupBytesMax; read < end-first || read > limit || first < end/2 {
		t.Errorf("%d bytes of the log were read, the file is about those from %d to %d", read, first, end)
	}
}

// TestAnOlderCheckpointMayLeadToFilesOfTheKeyIndexThatAStartHasRemoved: a start without the key index is killed behind its first checkpoint, so that
// the older one still tells of files; the next, with the index, removes them and is killed; then the newer checkpoint rots.
func TestAnOlderCheckpointMayLeadToFilesOfTheKeyIndexThatAStartHasRemoved(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	for _, spoilt := range slots {
		for _, behind := range []host.Point{commitlog.PointIndexRemade, keyindex.PointClosed, keyindex.PointSnapshot, commitlog.PointCheckpointed} {
			b := newBook(t, indexedConfig())
			killed := 0
			b.world.OnMark(func(node *sim.Node, e host.Event) {
				life := node.Epoch()
				if life-2 == killed && (life == 2 && e.Name == commitlog.PointCheckpointed || life == 3 && e.Name == behind) {
					killed++
					node.Crash(sim.KillProcess())
				}
			})
			b.before = func(life int, _ host.Host) error {
				b.config.KeyIndex = life != 2
				if life == 4 {
					spoil(b.node, spoilt, 20)
				}
				return nil
			}
			b.lives(func() error {
				for range 440 {
					if err := b.ownKeyed(); err != nil {
						return err
					}
				}
				return nil
			}, func() error { return nil }, func() error { return nil }, func() error {
				_, err := b.mustFind(false)
				return errors.Join(err, b.mustHold(true))
			})
			if killed != 2 {
				t.Errorf("%s: %d starts were killed", behind, killed)
			}
			b.world.Release()
		}
	}
}

// TestAKeyIndexThatTheDiskCannotReadIsMadeAnew: a start has the log, and waits for no disk to heal.
func TestAKeyIndexThatTheDiskCannotReadIsMadeAnew(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	for file := range 3 {
		b := newBook(t, indexedConfig())
		unread := ""
		b.node.Disk(commitlog.StoreVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if op.Kind == sim.DiskRead && unread != "" && strings.HasSuffix(op.Path, "index/"+unread) {
				return sim.DiskEffect{Err: host.ErrIO}
			}
			return sim.DiskEffect{}
		})
		b.before = func(life int, h host.Host) error {
			if life == 1 {
				return nil
			}
			names, err := b.indexFiles()
			unread = names[file]
			if file == 2 { // else none of its entries have to be read
				dir, err2 := indexDir(h)
				if err2 != nil {
					return err2
				}
				err = errors.Join(err, dir.Remove(names[3]), dir.Remove(names[4]))
			}
			return err
		}
		b.lives(func() error {
			for range 440 {
				if err := b.ownKeyed(); err != nil {
					return err
				}
			}
			return nil
		}, func() error {
			unread = ""
			_, err := b.mustFind(false)
			return err
		})
		if n := b.node.Visits(commitlog.PointIndexRemade); n != 1 {
			t.Errorf("file %d: %d starts made the index anew", file, n)
		}
	}
}

package faults

import (
	"errors"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/sim"
)

// rig is a world of two equal nodes, a and b. Each writes, reads and syncs a file about every millisecond, answers the
// other and calls it. What goes wrong is marked, and never ends a node.
type rig struct {
	world  *sim.World
	driver *Driver
	events []event
	past   int  // times that a node went on behind its mark of a step
	clean  int  // processes that ended in good order
	manual bool // the rig starts no node again
}

// event is a mark with its moment.
type event struct {
	at   time.Duration
	node string
	name string
}

const testVolume = "data"

func newRig(t *testing.T, seed uint64, plan Plan) *rig {
	t.Helper()
	r := &rig{world: sim.New(sim.Config{Seed: seed, LockYieldPermille: 50})}
	for _, name := range []string{"a", "b"} {
		n := r.world.NewNode(name)
		n.OnExit(func(_ error, crashed bool) {
			if !crashed {
				r.clean++
			}
		})
	}
	if err := Validate(plan, Allowance{Fragile: map[string]bool{"a": true, "b": true}, Damage: true}); err != nil {
		t.Fatal(err)
	}
	r.driver = NewDriver(r.world, plan, Actions{Restart: func(name string) {
		if !r.manual {
			r.start(name)
		}
	}, Wipe: func(name string) { r.world.Node(name).Disk(testVolume).Replace(0) }})
	r.world.OnMark(func(n *sim.Node, e host.Event) {
		r.events = append(r.events, event{r.world.Elapsed(), n.Name(), string(e.Name)})
		r.driver.OnMark(n, string(e.Name), e.Extra)
	})
	r.world.SetPerhaps(func(n *sim.Node, p host.Point) bool { return r.driver.Perhaps(n, string(p)) })
	r.start("a")
	r.start("b")
	return r
}

func (r *rig) start(name string) { r.world.Node(name).Start(r.boot(name, other(name))) }

func other(name string) string {
	if name == "a" {
		return "b"
	}
	return "a"
}

// run lets the world go on for a time, and fails the test if it ends in another way.
func (r *rig) run(t *testing.T, length time.Duration) sim.Verdict {
	t.Helper()
	r.world.At(length, r.world.Stop)
	v := r.world.Run(time.Hour)
	if v.Failed() {
		t.Fatalf("the world did not finish:\n%s", v.String())
	}
	return v
}

// count is how many marks of this name a node made from one moment to before another.
func (r *rig) count(node, name string, from, to time.Duration) int {
	n := 0
	for _, e := range r.events {
		if e.node == node && e.name == name && e.at >= from && e.at < to {
			n++
		}
	}
	return n
}

func (r *rig) boot(name, peer string) func(host.Host) error {
	return func(h host.Host) error {
		l, err := h.Net().Listen(name + ":1")
		if err != nil {
			return err
		}
		tasks := h.Root().New("tasks")
		tasks.Go("accept", func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				tasks.Go("echo", func() { echo(h, c) })
			}
		})
		tasks.Go("store", func() { r.store(h) })
		tasks.Go("call", func() {
			for h.Root().Sleep(2 * time.Millisecond) {
				mark(h, call(h, peer) == nil, "test.answered", "test.unanswered")
			}
		})
		host.AwaitStop(h.Root())
		if err := l.Close(); err != nil {
			return err
		}
		tasks.Wait()
		return nil
	}
}

func mark(h host.Host, good bool, yes, no host.Point) {
	if !good {
		yes = no
	}
	h.Probe().Mark(host.Event{Name: yes})
}

func echo(h host.Host, c host.Conn) {
	defer c.Close() //nolint:errcheck // a test
	c.Limits(50*time.Millisecond, 50*time.Millisecond)
	buffer := make([]byte, 64)
	for {
		n, err := c.Read(buffer)
		if err != nil || c.WriteBuffers([][]byte{buffer[:n]}) != nil {
			return
		}
		h.Root().Sleep(time.Millisecond) // keeps connections open for faults to find
	}
}

func call(h host.Host, peer string) error {
	c, err := h.Net().Dial(peer+":1", host.Within(h, h.Root(), 50*time.Millisecond))
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // a test
	c.Limits(50*time.Millisecond, 50*time.Millisecond)
	for range 3 {
		if err := c.WriteBuffers([][]byte{[]byte("hello")}); err != nil {
			return err
		}
		for got := 0; got < 5; {
			n, err := c.Read(make([]byte, 5))
			if err != nil {
				return err
			}
			got += n
		}
	}
	return nil
}

// store writes and reads the file in steps. The clock and the probe have their part in each.
func (r *rig) store(h host.Host) {
	rng := h.Rand("store")
	for h.Root().Sleep(time.Millisecond) {
		h.Now()
		if h.Probe().Perhaps("test.rare") {
			h.Probe().Mark(host.Event{Name: "test.rarely"})
		}
		err := step(h, rng.Int64N(64<<10))
		mark(h, err == nil, "test.step", "test.failed")
		r.past++
	}
}

func step(h host.Host, off int64) error {
	root, err := h.Disk(testVolume)
	if err != nil {
		return err
	}
	dir, err := root.Sub("logs")
	if err != nil {
		return err
	}
	if _, err := dir.List(); err != nil {
		return err
	}
	f, err := dir.Open("f.log")
	if errors.Is(err, host.ErrNotExist) {
		f, err = dir.Create("f.log")
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // a test
	text := make([]byte, 600)
	for i := range text {
		text[i] = byte(i%250 + 1)
	}
	if _, err := host.WriteFull(f, [][]byte{text[:100], text[100:]}, off); err != nil {
		return err
	}
	size, err := f.Size()
	if err != nil {
		return err
	}
	if _, err := host.ReadFull(f, make([]byte, size), 0); err != nil {
		return err
	}
	if err := f.Allocate(off, 4096); err != nil {
		return err
	}
	return errors.Join(f.Sync(), dir.SyncDir(), root.SyncDir())
}

// alone runs a plan against one node "a" whose boot the test gives. A node that crashed boots again.
func alone(t *testing.T, seed uint64, plan Plan, boot func(h host.Host, life int)) (*sim.World, *Driver) {
	t.Helper()
	return aloneWith(t, seed, plan, nil, boot)
}

// aloneWith is alone with a say in what may be destroyed.
func aloneWith(t *testing.T, seed uint64, plan Plan, allow func(Wound) bool, boot func(h host.Host, life int)) (*sim.World, *Driver) {
	t.Helper()
	w := sim.New(sim.Config{Seed: seed})
	n := w.NewNode("a")
	start := func() {
		life := n.Epoch() + 1
		n.Start(func(h host.Host) error {
			boot(h, life)
			return nil
		})
	}
	d := NewDriver(w, plan, Actions{
		Restart: func(string) { start() },
		Wipe:    func(string) { n.Disk(testVolume).Replace(0) },
		Allow:   allow,
	})
	w.OnMark(func(n *sim.Node, e host.Event) { d.OnMark(n, string(e.Name), e.Extra) })
	w.SetPerhaps(func(n *sim.Node, p host.Point) bool { return d.Perhaps(n, string(p)) })
	start()
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatalf("the world did not finish:\n%s", v.String())
	}
	return w, d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// newFile makes a file in the test volume of a node.
func newFile(t *testing.T, h host.Host, name string) (host.Dir, host.File) {
	t.Helper()
	dir, err := h.Disk(testVolume)
	must(t, err)
	f, err := dir.Create(name)
	must(t, err)
	must(t, dir.SyncDir())
	return dir, f
}

// one is a plan of one element at a moment when the rig is warm.
func one(kind Kind, target Target, params Params) Plan {
	return Plan{Elements: []Element{{ID: "e", Kind: kind, Trigger: Trigger{At: warm}, Target: target, Params: params}}}
}

const warm = 100 * time.Millisecond

var onDisk = Target{Node: "a", Volume: testVolume}

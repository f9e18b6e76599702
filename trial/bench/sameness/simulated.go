package sameness

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/sim"
)

// Names and addresses in the simulated world.
const (
	storeNode    = "metadata"
	storeAddress = storeNode + ":2181"
	bookiePort   = ":3181"
	worldLimit   = 2 * time.Hour // of virtual time
	servingPoll  = 100 * time.Millisecond
)

// world is a simulated cluster.
type world struct {
	sim     *sim.World
	bookies []*sim.Node
	serving map[*sim.Node]bool // since its last start
	player  host.Host

	settings *Settings
}

// Simulate plays a script in a simulated world.
func Simulate(s *Script, seed uint64, settings *Settings) (state State, err error) {
	config := settings.World
	config.Seed = seed
	w := &world{sim: sim.New(config), serving: map[*sim.Node]bool{}, settings: settings}
	defer w.sim.Release()
	store := w.sim.NewNode(storeNode)
	store.SetDaemon(true)
	store.Start(serveStore)
	w.sim.OnMark(func(n *sim.Node, e host.Event) {
		if e.Name == node.PointServing {
			w.serving[n] = true
		}
	})
	for i := range s.Bookies {
		n := w.sim.NewNode(fmt.Sprintf("bookie-%d", i))
		n.SetDaemon(true)
		w.bookies = append(w.bookies, n)
		w.start(n)
	}
	player := w.sim.NewNode("player")
	player.OnExit(func(failed error, _ bool) {
		err = failed
		w.sim.Stop()
	})
	player.Start(func(h host.Host) (err error) {
		w.player = h
		state, err = w.play(h, s)
		return err
	})
	if v := w.sim.Run(worldLimit); v.Failed() {
		return "", errors.Join(fmt.Errorf("the simulated world of seed %d ended: %s", seed, v.String()), err)
	}
	return state, err
}

func serveStore(h host.Host) error {
	listener, err := h.Net().Listen(storeAddress)
	if err != nil {
		return err
	}
	s, err := service.Serve(h, h.Root(), listener, service.DefaultServerConfig())
	if err != nil {
		return err
	}
	host.AwaitStop(h.Root())
	s.Close()
	return nil
}

// start starts a bookie, again if need be.
func (w *world) start(n *sim.Node) {
	w.serving[n] = false
	n.Start(func(h host.Host) error {
		store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(storeAddress))
		if err != nil {
			return err
		}
		config := w.settings.Bookie
		config.Store.BookieID, config.Initialize = n.Name()+bookiePort, true
		return errors.Join(node.Run(h, store, config), store.Close())
	})
}

func (w *world) play(h host.Host, s *Script) (State, error) {
	return playAndLook(h, storeAddress, w, s, w.settings)
}

// how a bookie is killed. A process that is killed leaves its machine, and so its page cache.
func (s *Settings) how() sim.How {
	if s.PowerCut != nil {
		return sim.PowerCut(*s.PowerCut)
	}
	return sim.KillProcess()
}

// kill ends a bookie's process without warning, or its machine.
func (w *world) kill(b ledger.BookieID) error {
	name := strings.TrimSuffix(string(b), bookiePort)
	for _, n := range w.bookies {
		if n.Name() == name {
			if n.Running() {
				n.Crash(w.settings.how())
			}
			return nil
		}
	}
	return fmt.Errorf("kill %s: there is no such bookie", b)
}

func (w *world) restart() error {
	for _, n := range w.bookies {
		if !n.Running() {
			w.start(n)
		}
	}
	for _, n := range w.bookies {
		for !w.serving[n] {
			if !w.player.Root().Sleep(servingPoll) {
				return host.ErrStopping
			}
		}
	}
	return nil
}

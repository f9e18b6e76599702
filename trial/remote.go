package trial

import (
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/server"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/host"
	"lakebed/workloads"
)

const bookieAddress = bookieNode + ":3181"

// serverConfig is a server whose bounds are reached by a handful of clients.
func serverConfig(c *bookie.Config) server.Config {
	s := server.DefaultConfig()
	s.ConnectionsMax, s.InputBufferBytes = 8, 1<<10
	s.BatchesMax, s.BatchEntriesMax, s.BatchBytesMax = 2, 4, int64(c.EntryBytesMax)
	s.ReadsMax, s.ReadTasks, s.FenceTasks = 4, 2, 2
	s.AnswerBytesMax, s.AnswersBytesMax = 16<<10, 32<<10
	s.OutputBytes, s.GatheredFrameMin = 1<<10, 2<<10
	s.Idle, s.FrameStall, s.WriteStall = 10*time.Second, time.Second, time.Second
	s.DrainMax = time.Second
	return s
}

func channelConfig() channel.Config {
	c := channel.DefaultConfig()
	c.RequestsMax, c.OutputBytesMax, c.InputBufferBytes = 16, 16<<10, 1<<10
	c.Timeout, c.Patience, c.WriteStall = 150*time.Millisecond, 300*time.Millisecond, 200*time.Millisecond
	return c
}

// serve opens the bookie's door to remote clients, if the scenario has any.
func (t *run) serve(h host.Host, store *bookie.Store) (*server.Server, error) {
	if t.options.Scenario.Remote == 0 {
		return nil, nil
	}
	listener, err := h.Net().Listen(bookieAddress)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", bookieAddress, err)
	}
	return server.Serve(h, h.Root(), store, listener, serverConfig(&t.config)), nil
}

func (t *run) addRemotes() {
	for i := range t.options.Scenario.Remote {
		n := t.world.NewNode(remoteNode(i))
		n.SetDaemon(true)
		t.remotes = append(t.remotes, n)
	}
}

func (t *run) startRemotes() {
	for i, n := range t.remotes {
		n.Start(func(h host.Host) error {
			workloads.NewRemote(h, t.lab, bookieAddress, t.options.Scenario.Clients+1+i, t.options.Scenario.pace(), channelConfig()).Run()
			t.checkMemory(h, nil)
			return nil
		})
	}
}

package trial

import (
	"fmt"
	"math/rand/v2"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/client"
	"lakebed/engine/commitlog/readahead"
	"lakebed/engine/commitlog/server"
	"lakebed/engine/host"
	"lakebed/faults"
	"lakebed/workloads/messages"
)

const brokerAddress = brokerNode + ":10911"

// drawMessageServer draws a server whose bounds a handful of clients reach, and one of the four senders.
func drawMessageServer(r *rand.Rand) server.Config {
	pick := func(n int) int { return r.IntN(n) }
	c := server.DefaultConfig()
	c.Sender, c.Verify = server.Senders()[pick(4)], pick(3) == 0
	c.ConnectionsMax, c.ProducesMax, c.PullsMax = 8, 1+pick(3), 1+pick(3)
	c.FrameBytesMax, c.InputBuffer = 4<<10, 100+pick(1000)
	c.SendBuffer, c.SpanGapMax = 100+pick(5000), []int{0, 100, 512, 2000}[pick(4)]
	c.Idle, c.FrameTimeout, c.WriteStall = 5*time.Second, time.Second, 500*time.Millisecond
	c.Prefetch = []server.Prefetch{server.PrefetchOff, server.PrefetchRead, server.PrefetchAdvise}[pick(3)]
	c.ReadAhead = readahead.Config{Min: int64(pick(4000)), Max: int64(pick(20_000))}
	c.StreamsMax, c.PrefetchTasks, c.PrefetchQueue, c.PrefetchChunk = 1+pick(4), 1+pick(2), 1+pick(4), 500+pick(5000)
	return c
}

func messageClientConfig() client.Config {
	c := client.DefaultConfig()
	c.FrameBytesMax, c.CallsMax, c.InputBuffer = 256<<10, 4, 700
	c.Timeout, c.DialTimeout, c.WriteStall = 300*time.Millisecond, 200*time.Millisecond, 200*time.Millisecond
	return c
}

// openDoor opens the store's door to other machines, if the scenario has any.
func (t *messageRun) openDoor(h host.Host, store *commitlog.Store) (*server.Server, error) {
	if t.options.Scenario.Remote == 0 {
		return nil, nil
	}
	listener, err := h.Net().Listen(brokerAddress)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", brokerAddress, err)
	}
	return server.Serve(h, h.Root(), store, listener, t.server), nil
}

func (t *messageRun) addMessageRemotes() {
	if t.options.Scenario.Remote > 0 {
		draw := t.options.draw("server")
		t.server = drawMessageServer(draw)
		t.config.MappedFiles = []int{0, 1, 1, 100}[draw.IntN(4)]
	}
	for i := range t.options.Scenario.Remote {
		n := t.world.NewNode(remoteNode(i))
		n.SetDaemon(true)
		t.remotes = append(t.remotes, n)
	}
}

func (t *messageRun) startMessageRemotes() {
	s := &t.options.Scenario
	for i, n := range t.remotes {
		n.Start(func(h host.Host) error {
			reach, err := client.New(h, h.Root(), brokerAddress, messageClientConfig())
			if err != nil {
				return err
			}
			tasks := h.Root().New("remote")
			tasks.Go("client", messages.NewRemote(h, tasks, t.lab, reach, s.Clients+1+i, s.pace()).Run)
			host.AwaitStop(h.Root())
			tasks.Stop()
			reach.Close() // ends a call under way
			tasks.Wait()
			return nil
		})
	}
}

// serverPoints are those of the commit log's server.
func serverPoints() []faults.PointShape {
	often := func(p host.Point, weight int) faults.PointShape {
		return faults.PointShape{Point: string(p), Weight: weight, VisitsMax: 100}
	}
	return []faults.PointShape{
		often(server.PointProduced, 3), often(server.PointSent, 2), often(server.PointConnected, 1), often(server.PointPrefetched, 1),
		{Point: string(server.PointTorn), Weight: 1, VisitsMax: 3}, {Point: string(server.PointChecked), Weight: 1, VisitsMax: 20},
	}
}

// remoteMessageMarks are the rare states that trials with clients on other machines exist for, and that a dozen of them reach
// surely.
func remoteMessageMarks() []host.Point {
	return []host.Point{
		server.PointProduced, server.PointSent, server.PointChecked, server.PointUnmapped, server.PointPrefetched,
		client.PointLost, client.PointRechecked,
	}
}

package messages_test

import (
	"strings"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/workloads/agenda"
	"lakebed/workloads/messages"
)

// TestTheLastLookReadsNoIndexOncePerMessage: a key is looked for in all of the index a bounded number of times, so that a trial with many
// messages and few slots ends. One search reads every entry here.
func TestTheLastLookReadsNoIndexOncePerMessage(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	const sent, indexReadsMax = 1500, 150_000 // 1,500 searches of 1,500 entries are 2,250,000
	config := commitlog.DefaultConfig()
	config.FileBytes, config.BodyBytesMax, config.PropertiesMax, config.QueuesPerTopic = 32<<10, 2<<10, 256, 2
	config.IndexSlots, config.IndexEntries, config.CheckpointBytes = 1, 10, 4<<10
	lab := messages.NewLab(messages.Mix{Send: 1, SendTo: 1, Topics: 2, Queues: 2, BodyMax: 10}, agenda.New(1))
	world := sim.New(sim.Config{Seed: 1})
	node := world.NewNode("broker")
	reads := 0
	node.Disk(commitlog.StoreVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
		if op.Kind == sim.DiskRead && strings.HasPrefix(op.Path, "index/") {
			reads++
		}
		return sim.DiskEffect{}
	})
	node.Start(func(h host.Host) error {
		store, err := commitlog.Open(h, h.Root(), config)
		if err != nil {
			return err
		}
		clients := h.Root().New("clients")
		clients.Go("client", messages.NewClient(h, clients, lab, store, 0, 100*time.Microsecond).Run)
		for lab.Operations() < sent {
			h.Root().Sleep(time.Millisecond)
		}
		clients.Stop()
		clients.Wait()
		h.Root().Sleep(time.Second) // all have their units
		c := messages.NewClient(h, h.Root(), lab, store, 1, time.Microsecond)
		if problem, ok := c.Verify(); problem != "" || !ok {
			t.Errorf("verify: %s", problem)
		}
		return store.Close()
	})
	if v := world.Run(time.Hour); v.Failed() || node.BootErr() != nil {
		t.Fatalf("%s\n%v", v.String(), node.BootErr())
	}
	if reads == 0 || reads > indexReadsMax {
		t.Errorf("%d reads of the index, want 1 to %d", reads, indexReadsMax)
	}
}

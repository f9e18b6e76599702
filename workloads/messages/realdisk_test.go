package messages_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/model"
	"lakebed/workloads/agenda"
	"lakebed/workloads/messages"
)

// TestHistoriesOfACommitLogOnARealDiskAreRight runs the campaign's clients on goroutines and files, through several clean
// restarts, and asks the same checkers. Under -race it looks for what the simulator cannot see.
func TestHistoriesOfACommitLogOnARealDiskAreRight(t *testing.T) {
	const rounds, clients, queues = 3, 6, 3
	config := commitlog.DefaultConfig()
	config.FileBytes, config.BodyBytesMax, config.PropertiesMax = 32<<10, 2<<10, 256
	config.Preallocation, config.QueueFileUnits, config.QueuesPerTopic = series.Recycled, 200, queues
	config.CheckpointInterval, config.AckAfterDispatch, config.OpenFilesMax = 20*time.Millisecond, true, 4
	config.IndexSlots, config.IndexEntries = 64, 300
	config.Retention.Interval = time.Hour
	lab := messages.NewLab(messages.Mix{
		Send: 20, SendTo: 30, Pull: 14, PullTag: 6, Tail: 14, Query: 4, Time: 2, Topics: 3, Queues: queues, BodyMax: 500, TailMillis: 5,
	}, agenda.New(1))
	volumes := map[string]string{commitlog.StoreVolume: t.TempDir()}
	for round := range rounds + 1 {
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
		if round == rounds {
			ctx = t.Context()
		}
		err := oshost.Run(ctx, oshost.Config{Volumes: volumes, Seed: uint64(round + 1)}, func(h host.Host) error {
			store, err := commitlog.Open(h, h.Root(), config)
			if err != nil {
				return err
			}
			if round == rounds {
				problem, ok := messages.NewClient(h, h.Root(), lab, store, clients, time.Microsecond).Verify()
				if problem != "" || !ok {
					t.Errorf("verify: %s", problem)
				}
				return store.Close()
			}
			group := h.Root().New("clients")
			for i := range clients {
				group.Go("client", messages.NewClient(h, group, lab, store, i, 200*time.Microsecond).Run)
			}
			err = store.AwaitEnd(h.Root())
			group.Stop()
			closed := store.Close()
			group.Wait()
			return errors.Join(err, closed)
		})
		cancel()
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		lab.Ended()
	}
	for _, v := range model.CheckMessages(lab.History(true, true)) {
		t.Errorf("%s: %s\n%s", v.Checker, v.Signature, v.Explanation)
	}
	t.Logf("%d operations: %v", lab.Operations(), lab.Answers())
}

package seglog_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/engine/seglog"
	"lakebed/engine/seglog/partition"
)

// BenchmarkAppend appends messages of 1 KiB to one partition on this machine's disk, from so many tasks at once.
func BenchmarkAppend(b *testing.B) {
	for _, mode := range []partition.SyncMode{partition.SyncGroup, partition.SyncNever} {
		for _, tasks := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", mode, tasks), func(b *testing.B) { benchmarkAppend(b, mode, tasks) })
		}
	}
}

func benchmarkAppend(b *testing.B, mode partition.SyncMode, tasks int) {
	config := seglog.DefaultConfig()
	config.Partition.Sync, config.FutureMax = mode, 0
	volumes := map[string]string{"disk0": filepath.Join(b.TempDir(), "disk0")}
	err := oshost.Run(b.Context(), oshost.Config{Volumes: volumes}, func(h host.Host) error {
		s, err := seglog.Open(h, h.Root(), config)
		if err != nil {
			return err
		}
		if err := s.CreateTopic(topic, seglog.TopicConfig{Partitions: 1}); err != nil {
			return err
		}
		message := payload(1, string(make([]byte, 1000)))
		b.SetBytes(int64(len(message)))
		b.ReportAllocs()
		b.ResetTimer()
		g := h.Root().New("appenders")
		for task := range tasks {
			g.Go("appender", func() {
				for i := task; i < b.N; i += tasks {
					if _, err := s.Append(topic, 0, message); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		g.Wait()
		b.StopTimer()
		return s.Close()
	})
	if err != nil {
		b.Fatal(err)
	}
}

package stores_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"lakebed/peers/jvm"
	"lakebed/peers/stores"
)

// brokersVariable has the brokers tested too: they need Java, Maven and half a minute. .ci/run peers sets it.
const brokersVariable = "LAKEBED_PEERS_BROKERS"

// payloadOf is unlike every other, and says where it belongs.
func payloadOf(size, partition, n int) []byte {
	b := make([]byte, size)
	binary.BigEndian.PutUint32(b, uint32(partition))
	binary.BigEndian.PutUint32(b[4:], uint32(n))
	for i := 8; i < size; i++ {
		b[i] = byte(i*7 + n)
	}
	return b
}

// TestEveryStoreGivesBackWhatItTookInOrder appends from as many tasks as there are partitions, and reads it all twice: at each
// durability, with one partition and with several. What is compared must be the same work.
func TestEveryStoreGivesBackWhatItTookInOrder(t *testing.T) {
	for _, s := range stores.All() {
		for _, synced := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%t", s.Name, synced), func(t *testing.T) {
				place := stores.Place{Seed: 1, Address: startBroker(t, s, synced)}
				for _, partitions := range []int{1, 9} {
					if s.Kind == stores.Line && partitions > 1 {
						continue // it has none
					}
					place.Dir, place.Name = t.TempDir(), fmt.Sprintf("topic-%d", partitions)
					place.Point = stores.Point{Synced: synced, PayloadBytes: 100, Partitions: partitions, Appenders: partitions}
					checkStore(t, s, place)
				}
			})
		}
	}
}

// startBroker returns the address of a store's broker, if it needs one.
func startBroker(t *testing.T, s stores.Store, synced bool) string {
	t.Helper()
	if s.Broker == stores.NoBroker {
		return ""
	}
	if os.Getenv(brokersVariable) == "" {
		t.Skipf("%s is not set", brokersVariable)
	}
	b, err := jvm.Start(t.Context(), s.Broker, t.TempDir(), synced)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	return b.Address
}

func checkStore(t *testing.T, s stores.Store, place stores.Place) {
	t.Helper()
	log, err := s.Open(place)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}()
	const each = 20
	size, partitions := place.Point.PayloadBytes, place.Point.Partitions
	var tasks sync.WaitGroup
	for partition := range partitions {
		tasks.Go(func() {
			for n := range each {
				if err := log.Append(partition, payloadOf(size, partition, n)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	tasks.Wait()
	awaitSettled(log)
	for range 2 {
		next := make([]int, partitions)
		err := log.Read(func(payload []byte) {
			partition := int(binary.BigEndian.Uint32(payload))
			if want := payloadOf(size, partition, next[partition]); string(payload) != string(want) {
				t.Fatalf("partition %d: payload %x is read where %x comes next", partition, payload[:8], want[:8])
			}
			next[partition]++
		})
		if err != nil {
			t.Fatal(err)
		}
		for partition, n := range next {
			if n != each {
				t.Errorf("%d of %d payloads of partition %d are read", n, each, partition)
			}
		}
	}
}

// awaitSettled waits for logs that show an append later than they acknowledge it.
func awaitSettled(log stores.Log) {
	s, ok := log.(interface{ Settled() bool })
	for ok && !s.Settled() {
		time.Sleep(time.Millisecond)
	}
}

package commitlog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/consumequeue"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
)

// rottenUnits are how a row of units may have rotted. Each spoils the bytes of one.
var rottenUnits = map[string]func(unit []byte){
	"zeros":     func(unit []byte) { clear(unit) },
	"low":       func(unit []byte) { binary.BigEndian.PutUint64(unit, 1) },
	"negative":  func(unit []byte) { unit[0] |= 0x80 },
	"high":      func(unit []byte) { unit[2] |= 0x10 },
	"in log":    func(unit []byte) { binary.BigEndian.PutUint64(unit, binary.BigEndian.Uint64(unit)+40_000) },
	"together":  func(unit []byte) { binary.BigEndian.PutUint64(unit, binary.BigEndian.Uint64(unit)-30_000) }, // ascends as the whole ones do
	"one lower": func(unit []byte) { unit[6] ^= 0x40 },
	"noise":     func(unit []byte) { copy(unit, bytes.Repeat([]byte{0x5a, 0, 0xc3}, 7)) },
}

// rotTrial has queues of one topic, each with its own rot, and then the oldest files of the log removed.
type rotTrial struct {
	*book
	messages int
	physical [][]int64 // by queue and offset
	spoilt   [][]int64 // by queue
}

func newRotTrial(t *testing.T, messages int) *rotTrial {
	config := smallConfig(commitlog.FlushInterval)
	config.CheckpointInterval, config.CheckpointBytes, config.PendingUnitsMax = time.Hour, 1<<30, 1<<30
	config.QueueFileUnits, config.FileBytes = 32, 32<<10
	config.Retention.Age, config.Retention.DeleteHours, config.Retention.FilesMax = time.Second, everyHour(), 1
	return &rotTrial{book: newBook(t, config), messages: messages}
}

// fill gives each queue its messages, in turn.
func (r *rotTrial) fill(queues int) error {
	if err := r.store.CreateTopic("orders", int32(queues)); err != nil {
		return err
	}
	r.physical, r.spoilt = make([][]int64, queues), make([][]int64, queues)
	for n := range r.messages {
		for queue := range queues {
			placed, err := r.store.Append(message.Message{Topic: []byte("orders"), Queue: int32(queue), Body: fmt.Append(nil, queue, " ", n)})
			if err != nil {
				return err
			}
			r.physical[queue] = append(r.physical[queue], placed.Physical)
		}
	}
	if err := r.settled(); err != nil {
		return err
	}
	for range 2 {
		if err := r.store.CreateTopic("checkpointed", int32(1+r.store.Queues("checkpointed"))); err != nil {
			return err
		}
	}
	return nil
}

// spoil spoils some units of a queue, in its files.
func (r *rotTrial) spoil(queue int, rot func([]byte), offsets ...int64) error {
	files, err := r.filesOf(fmt.Sprint("consumequeue/orders/", queue))
	if err != nil {
		return err
	}
	for _, offset := range offsets {
		if offset < 0 || offset >= int64(len(files))*r.config.QueueFileUnits {
			continue
		}
		f, at := files[offset/r.config.QueueFileUnits], offset%r.config.QueueFileUnits*consumequeue.UnitBytes
		unit := make([]byte, consumequeue.UnitBytes)
		if _, err := host.ReadFull(f, unit, at); err != nil {
			return err
		}
		if rot(unit); host.WriteFullAt(f, unit, at) != nil {
			return errors.New("cannot spoil a unit")
		}
		r.spoilt[queue] = append(r.spoilt[queue], offset)
	}
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// removeUntil has the files of the log go that lie before an offset, and maybe one more.
func (r *rotTrial) removeUntil(offset int64) error {
	for r.store.Stats().First < offset {
		r.h.Root().Sleep(2 * time.Second)
		if err := r.store.Clean(); err != nil {
			return err
		}
	}
	return nil
}

// begins is the offset of the first message of a queue that the log has.
func (r *rotTrial) begins(queue int, log int64) int64 {
	at, _ := slices.BinarySearch(r.physical[queue], log)
	return int64(at)
}

// check pulls every message that the log has by itself: it is there, unless its unit is spoilt, which is told. No unit but a spoilt one is offered
// of those whose message is gone. Plausible: a spoilt unit that ascends like a whole one may say that its message is gone, and nothing else tells.
func (r *rotTrial) check(queue int, plausible bool) error {
	low, high, err := r.store.Bounds("orders", int32(queue))
	if err != nil {
		return err
	}
	begins := r.begins(queue, r.store.Stats().First)
	for plausible && begins < low && slices.Contains(r.spoilt[queue], begins) {
		begins++
	}
	if low > begins || high != int64(r.messages) {
		return fmt.Errorf("it has %d to %d, and should %d to %d", low, high, begins, r.messages)
	}
	for n := low; n < high; n++ {
		spoilt := slices.Contains(r.spoilt[queue], n)
		if n < begins && !spoilt {
			return fmt.Errorf("it begins at %d, and %d is gone and its unit tells so", low, n)
		}
		p, err := r.store.Pull(commitlog.PullRequest{Topic: "orders", Queue: int32(queue), Offset: n, Count: 1})
		switch {
		case spoilt && errors.Is(err, commitlog.ErrCorrupt):
		case err != nil || p.Status != commitlog.Found:
			return fmt.Errorf("pull at %d of %d to %d: %v, %w", n, low, high, p.Status, errors.Join(err))
		case string(p.Messages[0].Body) != fmt.Sprint(queue, " ", n):
			return fmt.Errorf("pull at %d: %s", n, p.Messages[0].Body)
		}
	}
	return nil
}

// TestRottenUnitsHideNoMessage: a queue's first message is looked for by its units, of which some have rotted, alone or with neighbours, in any
// manner, near the place or where a search by halves passes. Every message of which the unit is whole is there, and what is spoilt is told.
func TestRottenUnitsHideNoMessage(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	const messages = 64
	var offsets []int64
	for at := range int64(messages) {
		if at%5 == 0 || at > 28 && at < 41 {
			offsets = append(offsets, at)
		}
	}
	for _, length := range []int64{1, 3, 20} {
		r := newRotTrial(t, messages)
		r.lives(func() error {
			if err := r.fill(len(rottenUnits) * len(offsets)); err != nil {
				return err
			}
			queue := 0
			for _, name := range host.SortedKeys(rottenUnits) {
				for _, at := range offsets {
					var row []int64
					for n := range length {
						row = append(row, at+n)
					}
					if err := r.spoil(queue, rottenUnits[name], row...); err != nil {
						return err
					}
					queue++
				}
			}
			if err := r.removeUntil(r.physical[0][32]); err != nil {
				return err
			}
			for queue := range r.physical {
				name := host.SortedKeys(rottenUnits)[queue/len(offsets)]
				if err := r.check(queue, name == "together"); err != nil {
					t.Errorf("units %v spoilt (%s): %v", r.spoilt[queue], name, err)
				}
			}
			return nil
		})
	}
}

// TestARottenUnitOfTwoHidesNotTheOther: where there are too few units to outvote a rotten one, the messages themselves are looked at.
func TestARottenUnitOfTwoHidesNotTheOther(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	r := newRotTrial(t, 2)
	r.config.QueueFileUnits = 2
	r.lives(func() error {
		for r.store.Stats().Written < 2*r.config.FileBytes { // to be removed
			if _, err := r.store.Append(message.Message{Topic: []byte("before"), Body: make([]byte, 900)}); err != nil {
				return err
			}
		}
		if err := r.fill(2 * len(rottenUnits)); err != nil {
			return err
		}
		for i, name := range host.SortedKeys(rottenUnits) {
			if err := errors.Join(r.spoil(2*i, rottenUnits[name], 0), r.spoil(2*i+1, rottenUnits[name], 1)); err != nil {
				return err
			}
		}
		if err := r.removeUntil(r.config.FileBytes); err != nil {
			return err
		}
		for queue := range r.physical {
			name := host.SortedKeys(rottenUnits)[queue/2]
			plausible := queue%2 == 0 && (name == "together" || name == "low" || name == "one lower")
			if err := r.check(queue, plausible); err != nil {
				t.Errorf("unit %d spoilt (%s): %v", queue%2, name, err)
			}
		}
		return nil
	})
}

// TestABadSectorOfALongQueueHidesNoMessage: all units of it are zeros, as if their messages were gone.
func TestABadSectorOfALongQueueHidesNoMessage(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	const messages, perSector = 3000, 26
	for _, begin := range []int64{2800, 2240, 1490} { // where a search by halves of all units looks
		r := newRotTrial(t, messages)
		r.config.QueueFileUnits = 1 << 10
		r.lives(func() error {
			if err := r.fill(1); err != nil {
				return err
			}
			for n := range int64(perSector) {
				if err := r.spoil(0, rottenUnits["zeros"], begin+n); err != nil {
					return err
				}
			}
			if err := r.removeUntil(r.physical[0][begin-600]); err != nil {
				return err
			}
			if r.begins(0, r.store.Stats().First) >= begin {
				t.Error("no message before the bad sector is left")
			}
			return r.check(0, false)
		})
	}
}

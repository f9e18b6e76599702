package segments

import (
	"encoding/binary"
	"sync"
	"time"

	"lakebed/engine/seglog"
	"lakebed/engine/seglog/message"
	"lakebed/model"
	"lakebed/workloads/agenda"
	"lakebed/workloads/stamp"
)

// Topic is the name of the topic that clients use.
const Topic = "access.log"

// Mix says how clients divide their work: weights of what a client does next, and sizes.
type Mix struct {
	Append, Read, Tail, Seek, Bounds, Look int

	PayloadBytesMax int
	BatchMax        int // messages of one append
	GroupsMax       int // log groups of a message
	SkewMax         int // how far a producer's clock may be behind, in the unit of times
	NamedOneIn      int // how many appends share one that names its partition; zero: none does
}

// Lab is what all clients of one store share across its incarnations, and the record of what they saw. It may be used
// from tasks on real goroutines; its lock is never held across a call of the seam.
type Lab struct {
	mix        Mix
	partitions int
	agenda     *agenda.Agenda

	mutex   sync.Mutex
	history model.SegmentHistory
	stamps  stamp.Clock
	next    uint64 // message
	epoch   int
	open    map[int]*model.SegmentOp // operations under way, by number
	begun   int
	answers map[string]int64
}

// NewLab makes a lab in which nothing has happened. Clients do what the agenda says.
func NewLab(mix Mix, partitions int, a *agenda.Agenda) *Lab {
	return &Lab{
		mix: mix, partitions: partitions, agenda: a, open: map[int]*model.SegmentOp{}, answers: map[string]int64{},
		history: model.SegmentHistory{Times: map[uint64]uint64{}},
	}
}

// Retention tells the record what retention may remove.
func (l *Lab) Retention(period uint64, bySize bool) {
	l.history.Period, l.history.BySize = period, bySize
}

// Unsynced says that from now on what was acknowledged before may be lost: the store does not sync before it acknowledges,
// and something happened that shows it.
func (l *Lab) Unsynced() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.epoch++
}

// Clock notes what the store's clock shows.
func (l *Lab) Clock(now uint64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if n := len(l.history.Clocks); n == 0 || l.history.Clocks[n-1].Time < now {
		l.history.Clocks = append(l.history.Clocks, model.SegmentClock{At: l.stamps.Next(), Time: now})
	}
}

// Watch has the lab keep the time of its stamps. It is to be called before the first operation.
func (l *Lab) Watch(clock func() time.Duration) { l.stamps.Watch(clock) }

// Time is when a stamp was given. False: nobody watches, or there is no such stamp.
func (l *Lab) Time(at model.Stamp) (time.Duration, bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.stamps.Time(at)
}

func (l *Lab) begin(op model.SegmentOp) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	op.Call, op.Epoch = l.stamps.Next(), l.epoch
	l.begun++
	l.open[l.begun] = &op
	return l.begun
}

func (l *Lab) end(token int, outcome model.SegmentOutcome, fill func(op *model.SegmentOp)) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	op := l.open[token]
	if op == nil {
		return // a crash has ended it
	}
	delete(l.open, token)
	op.Return, op.ReturnEpoch, op.Outcome = l.stamps.Next(), l.epoch, outcome
	if fill != nil {
		fill(op)
	}
	l.answers[op.Kind.String()+" "+outcome.String()]++
	l.history.Ops = append(l.history.Ops, *op)
}

// Cut ends the operations that the end of the store's process left open.
func (l *Lab) Cut() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	ended := l.stamps.Next()
	for token := 1; token <= l.begun; token++ {
		op := l.open[token]
		if op == nil {
			continue
		}
		delete(l.open, token)
		op.Return, op.ReturnEpoch, op.Outcome = ended, l.epoch, model.SegmentError
		if op.Kind == model.SegmentAppend {
			op.Outcome = model.SegmentUnknown
		}
		l.answers[op.Kind.String()+" cut"]++
		l.history.Ops = append(l.history.Ops, *op)
	}
}

// History ends what is open and returns the record.
func (l *Lab) History() *model.SegmentHistory {
	l.Cut()
	return &l.history
}

// Operations is how many operations were started.
func (l *Lab) Operations() int64 { return int64(l.begun) }

// Answers counts outcomes, by "kind outcome".
func (l *Lab) Answers() map[string]int64 { return l.answers }

// draft is a message to be sent.
type draft struct {
	value   uint64
	payload []byte
}

// draft makes a message of this time.
func (l *Lab) draft(at seglog.Time, size, groups int) draft {
	l.mutex.Lock()
	l.next++
	value := l.next
	l.history.Times[value] = uint64(at)
	l.mutex.Unlock()
	return draft{value: value, payload: content(value, at, size, groups)}
}

// content is the message with this number: its bytes follow from number, time and sizes.
func content(value uint64, at seglog.Time, size, groups int) []byte {
	list := make([]message.Group, groups)
	for i := range list {
		var source [24]byte
		binary.BigEndian.PutUint64(source[:], value)
		binary.BigEndian.PutUint64(source[8:], uint64(size))
		binary.BigEndian.PutUint64(source[16:], uint64(groups))
		body := make([]byte, size/groups)
		state := value*0x9e3779b97f4a7c15 + uint64(i)
		for k := range body {
			state = state*6364136223846793005 + 1442695040888963407
			body[k] = byte(state >> 56)
		}
		// The newest group is not always the last one.
		list[(i+int(value))%groups] = message.Group{Time: at - seglog.Time(i), Source: source[:], Payload: body}
	}
	return message.Append(nil, list)
}

// strange stands for a message that differs from what was sent.
const strange = ^uint64(0)

// valueOf reads a message's number, and looks that every byte of it is as it was sent.
func (l *Lab) valueOf(payload []byte) uint64 {
	groups, err := message.Parse(payload)
	if err != nil || len(groups) == 0 || len(groups[0].Source) != 24 {
		return strange
	}
	source := groups[0].Source
	value, size, count := binary.BigEndian.Uint64(source), binary.BigEndian.Uint64(source[8:]), binary.BigEndian.Uint64(source[16:])
	l.mutex.Lock()
	at, sent := l.history.Times[value]
	l.mutex.Unlock()
	if !sent || count != uint64(len(groups)) || size > uint64(len(payload))*2 {
		return strange
	}
	if string(content(value, seglog.Time(at), int(size), int(count))) != string(payload) {
		return strange
	}
	return value
}

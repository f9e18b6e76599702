package messages

import (
	"math/rand/v2"
	"sync"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/model"
	"lakebed/workloads/agenda"
	"lakebed/workloads/stamp"
)

// Mix says how the clients divide their work: weights of what a client does next, and sizes.
type Mix struct {
	Send, SendTo, Pull, PullTag, Tail, Query, Time, Clean int

	Topics     int
	Queues     int32
	BodyMax    int
	TailMillis int // how long a tailing pull waits
}

// Lab is what all clients of one store share across its incarnations. It may be used from tasks on real goroutines; its lock
// is never held across a call of the seam.
type Lab struct {
	mix     Mix
	agenda  *agenda.Agenda
	mutex   sync.Mutex
	history model.MessageHistory
	stamps  stamp.Clock
	open    map[int]openSend // sends under way
	next    int
	answers map[string]int64
	sent    map[model.ClientID][]model.Digest // in their order, whatever came of them
}

// NewLab makes a lab in which nothing has happened. Clients do what the agenda says.
func NewLab(mix Mix, a *agenda.Agenda) *Lab {
	return &Lab{
		mix: mix, agenda: a, open: map[int]openSend{}, answers: map[string]int64{}, sent: map[model.ClientID][]model.Digest{},
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

// token stands for a send under way.
type token int

// openSend is a send under way. One of a client on another machine does not end with the store's process.
type openSend struct {
	model.Send
	remote bool
}

func (l *Lab) now() model.Stamp {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.stamps.Next()
}

func (l *Lab) beginSend(s model.Send, remote bool) token {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	s.Call = l.stamps.Next()
	l.next++
	l.open[l.next] = openSend{s, remote}
	l.sent[s.Client] = append(l.sent[s.Client], s.Digest)
	return token(l.next)
}

// anySent is one of the messages that a client has sent so far.
func (l *Lab) anySent(client int, r *rand.Rand) (d model.Digest, ok bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	all := l.sent[model.ClientID(client)]
	if len(all) == 0 {
		return 0, false
	}
	return all[r.IntN(len(all))], true
}

// endSend records how a send ended. One that a crash has ended is not recorded again.
func (l *Lab) endSend(t token, outcome model.Outcome, placed commitlog.Placed) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	open, ok := l.open[int(t)]
	if !ok {
		return
	}
	delete(l.open, int(t))
	s := open.Send
	s.Return, s.Outcome, s.Offset, s.Physical, s.Stored = l.stamps.Next(), outcome, placed.QueueOffset, placed.Physical, placed.Stored
	l.answers["send "+outcome.String()]++
	l.history.Sends = append(l.history.Sends, s)
}

func (l *Lab) endPull(p model.Pull, what string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	p.Return = l.stamps.Next()
	l.answers[what]++
	l.history.Pulls = append(l.history.Pulls, p)
}

func (l *Lab) endSearch(s model.Search) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	s.Return = l.stamps.Next()
	l.answers["search by time"]++
	l.history.Searches = append(l.history.Searches, s)
}

// Retention tells the record that nothing younger than age, in ms, may be removed.
func (l *Lab) Retention(age uint64) { l.history.Age = age }

// Clock notes what the store's clock shows, in ms.
func (l *Lab) Clock(now uint64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if n := len(l.history.Clocks); n == 0 || l.history.Clocks[n-1].Time < now {
		l.history.Clocks = append(l.history.Clocks, model.SegmentClock{At: l.stamps.Next(), Time: now})
	}
}

func (l *Lab) count(what string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.answers[what]++
}

// Ended records that the store's process is gone. What was under way in it has ended without an answer.
func (l *Lab) Ended() { l.endOpen(false) }

// endOpen ends the sends under way in the store's process, or all.
func (l *Lab) endOpen(remote bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	ended := l.stamps.Next()
	for t := 1; t <= l.next; t++ {
		open, ok := l.open[t]
		if !ok || open.remote && !remote {
			continue
		}
		delete(l.open, t)
		s := open.Send
		s.Return, s.Outcome = ended, model.Unknown
		l.answers["send "+s.Outcome.String()]++
		l.history.Sends = append(l.history.Sends, s)
	}
}

// PowerCut records that what was not synced may be gone.
func (l *Lab) PowerCut() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.history.PowerCuts = append(l.history.PowerCuts, l.stamps.Next())
}

// History ends what is open and returns the record. durable and visible are what the store's settings promise.
func (l *Lab) History(durable, visible bool) *model.MessageHistory {
	l.endOpen(true)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.history.Durable, l.history.Visible = durable, visible
	return &l.history
}

// Answers counts outcomes, by what was asked and how it ended.
func (l *Lab) Answers() map[string]int64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	counts := make(map[string]int64, len(l.answers))
	for what, n := range l.answers {
		counts[what] = n
	}
	return counts
}

// Taken is how many messages the store has said that it has.
func (l *Lab) Taken() int64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.answers["send "+model.OK.String()]
}

// Operations is how many operations ended.
func (l *Lab) Operations() (n int64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, count := range l.answers {
		n += count
	}
	return n
}

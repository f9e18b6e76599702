package replicated

import (
	"math/rand/v2"
	"strconv"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/model"
	"lakebed/workloads/agenda"
)

// Session is one sequential caller.
type Session struct {
	lab    *Lab
	h      host.Host
	group  host.Group
	client *client.Client
	id     model.ClientID
	name   string
	stream agenda.Stream
	rand   *rand.Rand // reads the stream
	step   int        // of the agenda; zero: the session does what it is told, and no step
	part   int        // of the step
	pace   time.Duration
	bare   *Bare // for foreign ledgers; nil: there are none

	patient time.Duration // of Verify: until then it tries again
}

// NewSession makes a session of a client. Its tasks belong to g; pace is the mean pause between two of its operations.
func NewSession(h host.Host, g host.Group, lab *Lab, c *client.Client, id model.ClientID, pace time.Duration) *Session {
	name := "session-" + strconv.Itoa(int(id))
	stream := lab.agenda.Stream(int(id))
	return &Session{lab: lab, h: h, group: g, client: c, id: id, name: name, stream: stream, rand: stream.Rand, pace: pace}
}

// Run works until the lab is finished or the group stops. Each chapter is a step of the agenda.
func (s *Session) Run() {
	for !s.lab.agenda.Absent(int(s.id)) {
		s.step, s.part = s.lab.agenda.Upcoming(int(s.id)), 0
		s.stream.Begin(s.step, 0)
		if !s.goesOn() {
			break
		}
		s.lab.agenda.Take(int(s.id))
		if s.lab.agenda.Wants(int(s.id), s.step) {
			s.chapter()
		}
	}
	s.lab.Recorder.Chapter(s.id, "")
}

// does goes on to the next part of the chapter and its numbers, and reports whether the agenda wants it done.
func (s *Session) does() bool {
	if s.step == 0 {
		return true
	}
	s.part++
	s.stream.Begin(s.step, s.part)
	return s.lab.agenda.Does(agenda.Op{Client: int(s.id), Step: s.step, Part: s.part})
}

// goesOn pauses, and reports whether there is to be another operation.
func (s *Session) goesOn() bool {
	if s.lab.Finished() {
		return false
	}
	// An exponential pause with a bound, so that a session neither spins nor falls asleep.
	pause := time.Duration(s.rand.ExpFloat64() * float64(s.pace))
	return s.group.Sleep(min(pause, 10*s.pace)) && !s.lab.Finished()
}

// chapter does one of the things that sessions do, chosen by weight.
func (s *Session) chapter() {
	m := &s.lab.mix
	chapters := []struct {
		weight int
		name   string
		do     func()
	}{
		{m.Write, "write", s.write}, {m.Tail, "tail", s.tail}, {m.CatchUp, "catch-up", s.catchUp},
		{m.TakeOver, "take-over", s.takeOver}, {m.Delete, "delete", s.deleteLedger}, {m.Foreign, "foreign", s.foreign},
	}
	total := 0
	for _, c := range chapters {
		total += c.weight
	}
	at := s.rand.IntN(total)
	for _, c := range chapters {
		if at -= c.weight; at < 0 {
			s.lab.Recorder.Chapter(s.id, c.name)
			c.do()
			return
		}
	}
}

// op is an operation of this session on a ledger.
func (s *Session) op(kind model.ClusterKind, id ledger.ID) model.ClusterOp {
	return model.ClusterOp{Kind: kind, Client: s.id, Ledger: model.LedgerID(id)}
}

// deleteLedger deletes a ledger, mostly one that has ended.
func (s *Session) deleteLedger() {
	wanted := ended
	if s.rand.IntN(3) == 0 {
		wanted = beingWritten
	}
	b := s.lab.pick(s.rand, wanted)
	if b == nil || !s.lab.mayDelete() || !s.does() {
		return
	}
	b.note(func(b *book) { b.deleted = true })
	token := s.lab.Recorder.Begin(s.op(model.LedgerDelete, b.id))
	err := s.client.Delete(b.id)
	s.lab.Recorder.End(token, outcomeOf(model.LedgerDelete, err), nil)
}

func (s *Session) openOptions() client.OpenOptions {
	return client.OpenOptions{Password: password(), Recovery: s.lab.mix.Recovery}
}

// password opens every ledger of these workloads.
func password() []byte { return []byte("lakebed") }

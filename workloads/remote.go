package workloads

import (
	"errors"
	"time"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/model"
	"lakebed/workloads/agenda"
)

// reconnectPause is how long a remote client waits before it dials again.
const reconnectPause = 20 * time.Millisecond

// Remote is a client on a node of its own, which reaches the bookie over one connection at a time. It outlives the
// bookie's processes: what it does not know the outcome of may happen later.
type Remote struct {
	caller
	h       host.Host
	address string
	config  channel.Config
	channel *channel.Channel
}

// NewRemote makes a client of the bookie at address.
func NewRemote(h host.Host, lab *Lab, address string, number int, pace time.Duration, config channel.Config) *Remote {
	return &Remote{
		caller: newCaller(lab, number, pace),
		h:      h, address: address, config: config,
	}
}

// Run works until the node is told to stop.
func (r *Remote) Run() {
	root := r.h.Root()
	for !r.Absent() && root.Sleep(reconnectPause) {
		c, err := channel.Dial(r.h, root, r.address, host.Within(r.h, root, time.Second), r.config)
		if err != nil {
			continue
		}
		r.channel = c
		for c.Err() == nil && r.Next(root) && r.act() {
		}
		c.Close()
	}
}

// act does one step. False: the node is to stop.
func (r *Remote) act() bool {
	m := &r.lab.mix
	return r.Choose(
		agenda.Weighted(m.Add, r.Single(r.add)), agenda.Weighted(m.AddBatch, r.pipeline), agenda.Weighted(m.Recover, r.Single(r.recoverEntry)),
		agenda.Weighted(m.Read, r.Single(r.read)), agenda.Weighted(m.ReadRange, r.Single(r.readBatch)), agenda.Weighted(m.LastEntry, r.Single(r.readLast)),
		agenda.Weighted(m.Fence, r.Single(r.fence)),
	)
}

// begin records the start of an operation that no crash of the bookie's process ends for this client.
func (r *Remote) begin(op model.Op) Token { return r.lab.Recorder.BeginRemote(op) }

// outcome translates what a channel says.
func outcome(kind model.Kind, err error) model.Outcome {
	reads := kind == model.Read || kind == model.ReadRange || kind == model.LastEntry
	switch {
	case err == nil && reads:
		return model.Found
	case err == nil:
		return model.OK
	case errors.Is(err, channel.ErrOutcomeUnknown):
		return model.Unknown
	case errors.Is(err, channel.ErrNoEntry):
		return model.NoEntry
	case errors.Is(err, channel.ErrNoLedger):
		return model.NoLedger
	case errors.Is(err, channel.ErrFenced):
		return model.Fenced
	case errors.Is(err, channel.ErrUnknown):
		return model.Limbo
	case reads:
		return model.Error
	default:
		return model.Failed // refused before it was sent
	}
}

func (r *Remote) addRequest(b *book, t tried, recovery bool) (*channel.Request, Token) {
	body := content(nil, b.id, t.entry, t.version, t.payload)
	request := &channel.Request{Operation: wire.Add, MasterKey: masterKey(), Body: body}
	if recovery {
		request.Flags = wire.RecoveryAdd
	}
	op := modelOp(model.Add, r.number, b.id, t.entry)
	op.Digest, op.Recovery = digest(body), recovery
	return request, r.begin(op)
}

func (r *Remote) add() bool {
	b := r.ledger()
	r.send(r.addRequest(b, b.append(r.rand), false))
	return true
}

func (r *Remote) recoverEntry() bool {
	b := r.lab.pick(r.rand)
	if b == nil {
		return true
	}
	if t, ok := b.renew(r.rand); ok {
		r.send(r.addRequest(b, t, true))
	}
	return true
}

func (r *Remote) send(request *channel.Request, token Token) {
	r.lab.Recorder.End(token, outcome(model.Add, r.channel.Do(request)), nil)
}

// answered takes a pipelined request back.
type answered struct {
	queue *host.Queue[*channel.Request]
}

func (a answered) Completed(request *channel.Request) { a.queue.Offer(request) }

// pipeline sends several adds without waiting between them. Each is a part of the step.
func (r *Remote) pipeline() bool {
	n := 1 + r.rand.IntN(r.lab.mix.BatchMax)
	b := r.ledger()
	done := answered{host.NewQueue[*channel.Request](r.h, r.h.Root(), "pipeline", n)}
	tokens := make(map[*channel.Request]Token, n)
	waiting := 0
	for i := range n {
		if !r.Does(i + 1) {
			continue
		}
		request, token := r.addRequest(b, b.append(r.rand), false)
		request.Done = done
		if err := r.channel.Submit(request); err != nil {
			r.lab.Recorder.End(token, outcome(model.Add, err), nil)
			continue
		}
		tokens[request] = token
		waiting++
	}
	var taken []*channel.Request
	for waiting > 0 {
		var ok bool
		if taken, ok = done.queue.Take(taken); !ok {
			return false // the recorder ends what is open
		}
		for _, request := range taken {
			r.lab.Recorder.End(tokens[request], outcome(model.Add, request.Err), nil)
			waiting--
		}
	}
	return true
}

func (r *Remote) read() bool {
	b := r.lab.pick(r.rand)
	if b == nil {
		return true
	}
	entry := b.some(r.rand)
	token := r.begin(modelOp(model.Read, r.number, b.id, entry))
	answer, err := r.channel.ReadEntry(b.id, entry, 0)
	r.endRead(token, model.Read, answer, err)
	return true
}

func (r *Remote) readLast() bool {
	b := r.lab.pick(r.rand)
	if b == nil {
		return true
	}
	token := r.begin(modelOp(model.LastEntry, r.number, b.id, 0))
	answer, err := r.channel.ReadLast(b.id, 0)
	r.endRead(token, model.LastEntry, answer, err)
	return true
}

func (r *Remote) endRead(token Token, kind model.Kind, answer *channel.Request, err error) {
	r.lab.Recorder.End(token, outcome(kind, err), func(op *model.Op) {
		if err == nil {
			_, entry, _ := ledger.Key(answer.Entries[0])
			op.Entry, op.Digest = model.EntryID(entry), digest(answer.Entries[0])
		}
	})
	if err == nil {
		answer.Release()
	}
}

func (r *Remote) readBatch() bool {
	b := r.lab.pick(r.rand)
	if b == nil {
		return true
	}
	batch := channel.Batch{Ledger: b.id, First: b.some(r.rand), MaxCount: int32(1 + r.rand.IntN(20)), MaxSize: int64(100 + r.rand.IntN(6000))}
	op := modelOp(model.ReadRange, r.number, b.id, batch.First)
	op.MaxCount, op.MaxBytes = batch.MaxCount, batch.MaxSize
	token := r.begin(op)
	answer, err := r.channel.BatchRead(batch, 0)
	var items []model.Item
	if err == nil {
		for _, e := range answer.Entries {
			_, entry, _ := ledger.Key(e)
			items = append(items, model.Item{Entry: model.EntryID(entry), Digest: digest(e), Bytes: int64(len(e))})
		}
		answer.Release()
	}
	r.lab.Recorder.EndRange(token, outcome(model.ReadRange, err), items)
	return true
}

// fence fences a ledger by a recovery read, and reads an entry with it.
func (r *Remote) fence() bool {
	b := r.lab.pick(r.rand)
	if b == nil {
		return true
	}
	b.askedFor(true, false)
	entry := b.some(r.rand)
	fence := r.begin(modelOp(model.Fence, r.number, b.id, 0))
	read := r.begin(modelOp(model.Read, r.number, b.id, entry))
	answer, err := r.channel.FenceAndRead(b.id, entry, masterKey(), 0)
	r.endRead(read, model.Read, answer, err)
	r.lab.Recorder.End(fence, fenceOutcome(err), nil)
	return true
}

// fenceOutcome reads the fence's outcome out of the answer to the read that came with it.
func fenceOutcome(err error) model.Outcome {
	switch {
	case err == nil, errors.Is(err, channel.ErrNoEntry):
		return model.OK
	case errors.Is(err, channel.ErrNoLedger):
		return model.Unknown // it was deleted before the read, and perhaps before the fence
	default:
		return model.Unknown
	}
}

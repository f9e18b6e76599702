package oracle

import (
	"slices"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/memory"
	"lakebed/engine/bookkeeper/metadata/service"
)

// verdict is what becomes of a request and its connection.
type verdict struct {
	response service.Response
	silent   bool // the response is not sent
	cut      bool // the connection ends after it
}

// pause draws how long a request is kept waiting before it is looked at.
func (o *Oracle) pause(session metadata.SessionID) time.Duration {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if !o.chance(o.config.SlowPermille) {
		return 0
	}
	d := o.span(o.config.SlowMax)
	o.use(Slow, session, d.Milliseconds())
	return d
}

// closed says whether the store lets nobody in at the moment.
func (o *Oracle) closed(now time.Duration) bool {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return now < o.outage
}

// answer does one request, or not. The mutex must be held.
func (o *Oracle) answer(c *connection, r *service.Request, now time.Duration) verdict {
	var v verdict
	switch {
	case now < o.outage:
		return verdict{silent: true, cut: true}
	case r.Operation == service.Hello:
		v = o.greet(c, r, now)
	case !o.tree.Alive(c.session):
		return o.refuse(r)
	case o.chance(o.config.OutagePermille):
		d := o.span(o.config.OutageMax)
		o.outage, o.moved = now+d, true
		o.use(Outage, c.session, d.Milliseconds())
		return verdict{silent: true, cut: true}
	case r.Operation != service.Bye && o.chance(o.config.ExpirePermille):
		o.use(Expired, c.session, 0)
		o.apply(memory.Command{Op: memory.EndSession, Session: c.session}, "", false, now)
		return o.refuse(r)
	case r.Operation.Writes():
		v = o.write(c, r, now)
	default:
		v = o.read(c, r, now)
	}
	o.tree.Touch(c.session, now)
	v.response.Operation, v.response.Sequence = r.Operation, r.Sequence
	return v
}

// refuse tells the client of an ended session so, or just cuts it.
func (o *Oracle) refuse(r *service.Request) verdict {
	return verdict{response: service.Response{
		Operation: r.Operation, Sequence: r.Sequence, Code: service.SessionExpired, Index: o.tree.Index(),
	}, silent: o.random.IntN(2) == 0, cut: true}
}

// greet gives a connection its session. A session that was resumed may read from an older state than its last connection
// did, if the client never saw what that one sent.
func (o *Oracle) greet(c *connection, r *service.Request, now time.Duration) verdict {
	id := r.Session
	if o.tree.Alive(id) {
		o.views[id] = min(r.Seen, o.tree.Index())
		for _, other := range c.process.connections {
			if other.session == id {
				other.broken, o.moved = true, true
			}
		}
	} else {
		for id = 0; id == 0 || o.tree.Alive(id); {
			id = metadata.SessionID(o.random.Int64())
		}
		timeout := min(max(r.Timeout, o.config.SessionTimeoutMin), o.config.SessionTimeoutMax)
		result := o.apply(memory.Command{Op: memory.OpenSession, Session: id, Timeout: timeout}, c.peer, false, now)
		if result.Err != nil {
			return verdict{response: service.Response{Code: service.CodeOf(result.Err), Index: result.Index}, cut: true}
		}
	}
	c.session = id
	return verdict{response: service.Response{Session: id, Timeout: o.tree.TimeoutOf(id), Index: o.view(id, now)}}
}

// write does a write, now, later or never, and answers it or not.
func (o *Oracle) write(c *connection, r *service.Request, now time.Duration) verdict {
	lost := verdict{silent: true, cut: true}
	command := service.CommandOf(r, c.session)
	switch {
	case o.chance(o.config.LostRequestPermille):
		o.use(LostRequest, c.session, 0)
		return lost
	case o.chance(o.config.LateWritePermille):
		l := lateWrite{due: now + o.span(o.config.LateWriteMax), command: command, peer: c.peer}
		i, _ := slices.BinarySearchFunc(o.late, l, func(a, b lateWrite) int { return int(a.due - b.due) })
		o.late = slices.Insert(o.late, i, l)
		return lost
	}
	result := o.apply(command, c.peer, false, now)
	if result.Err == nil && o.chance(o.config.LostAnswerPermille) {
		o.use(LostAnswer, c.session, 0)
		return lost
	}
	o.views[c.session] = result.Index
	return verdict{response: service.Response{
		Code: service.CodeOf(result.Err), Version: result.Version, Index: result.Index,
	}}
}

// read answers what changes no key. Every answer comes from a state that the session's next read does not go behind.
func (o *Oracle) read(c *connection, r *service.Request, now time.Duration) verdict {
	var response service.Response
	switch r.Operation {
	case service.Get:
		at := o.view(c.session, now)
		response = service.Read(o.tree.GetAt(r.Key, at))
	case service.List:
		response.Names = o.tree.ListAt(r.Key, o.view(c.session, now))
	case service.Sync:
		o.views[c.session] = o.tree.Index()
	case service.Watch:
		response.Code = service.CodeOf(o.tree.Watch(c.watcher, r.Key))
		// Who looks after the watch was made must see what happened before: nobody will tell.
		o.views[c.session] = o.tree.Index()
	case service.Unwatch:
		o.tree.Unwatch(c.watcher, r.Key)
	case service.Bye:
		result := o.apply(memory.Command{Op: memory.EndSession, Session: c.session}, c.peer, false, now)
		return verdict{response: service.Response{Index: result.Index}, cut: true}
	}
	response.Index = o.views[c.session]
	return verdict{response: response}
}

// pass does what time brings: late writes and the end of sessions whose clients were not heard of. It returns when it
// should be called next.
func (o *Oracle) pass(now time.Duration) time.Duration {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for len(o.late) > 0 && o.late[0].due <= now {
		l := o.late[0]
		o.late = o.late[1:]
		o.doLate(l, now)
	}
	overdue, next := o.tree.Overdue(now)
	for _, id := range overdue {
		o.apply(memory.Command{Op: memory.EndSession, Session: id}, "", false, now)
	}
	if len(o.late) > 0 {
		next = min(next, o.late[0].due)
	}
	return next
}

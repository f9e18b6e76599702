package server

import (
	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/readahead"
	"lakebed/engine/host"
)

// consumer is a queue that a connection pulls from.
type consumer struct {
	topic string
	queue int32
}

// stream is the reading of one consumer.
type stream struct {
	consumer consumer
	next     int64 // offset in the queue at which he would go on
	window   readahead.Window
}

// streams are those of one connection, the one that was read last at the end.
type streams struct {
	mutex host.Mutex
	most  int
	all   []*stream
}

func newStreams(h host.Host, most int) streams {
	return streams{mutex: h.NewMutex("commitlog-streams"), most: most}
}

// of returns the stream of a consumer, and how many bytes were fetched for one that had to make room. The mutex is held.
func (s *streams) of(c consumer, config readahead.Config) (found *stream, wasted int64) {
	for i, each := range s.all {
		if each.consumer == c {
			s.all = append(append(s.all[:i], s.all[i+1:]...), each)
			return each, 0
		}
	}
	if len(s.all) >= s.most {
		wasted = s.all[0].window.Unread()
		s.all = s.all[1:]
	}
	found = &stream{consumer: c, window: readahead.Window{Config: config}}
	s.all = append(s.all, found)
	return found, wasted
}

// fetch is what is to be fetched ahead.
type fetch struct{ span host.Span }

// ReadAhead says how well reading ahead goes.
type ReadAhead struct {
	Pulls   int64 // that found something
	Hits    int64 // of which everything was fetched ahead
	Fetched int64 // bytes that were asked for ahead
	Wasted  int64 // of those, bytes that their consumer passed or left
	LeftOut int64 // bytes that were not fetched since too many fetches waited
}

// counts are those of ReadAhead.
type counts struct{ pulls, hits, fetched, wasted, leftOut host.Counter }

func newCounts(h host.Host) counts {
	return counts{
		pulls: h.NewCounter("readahead-pulls"), hits: h.NewCounter("readahead-hits"), fetched: h.NewCounter("readahead-fetched"),
		wasted: h.NewCounter("readahead-wasted"), leftOut: h.NewCounter("readahead-left-out"),
	}
}

// ReadAhead says how well reading ahead goes, over all consumers since the start.
func (s *Server) ReadAhead() ReadAhead {
	c := &s.counts
	return ReadAhead{Pulls: c.pulls.Load(), Hits: c.hits.Load(), Fetched: c.fetched.Load(), Wasted: c.wasted.Load(), LeftOut: c.leftOut.Load()}
}

// follow takes note of what a consumer is about to get, and has fetched what will come next.
func (c *connection) follow(ask *commitlog.PullRequest, found *commitlog.Located, b *body) {
	s := c.server
	if s.config.Prefetch == PrefetchOff {
		return
	}
	last := &b.pieces[len(b.pieces)-1]
	from, end := b.pieces[0].spans[0].Off, last.spans[len(last.spans)-1]
	c.streams.mutex.Lock()
	stream, left := c.streams.of(consumer{ask.Topic, ask.Queue}, s.config.ReadAhead)
	goesOn := ask.Offset == stream.next
	stream.next = found.Next
	step := stream.window.Read(host.Span{Off: from, Len: end.Off + end.Len - from}, goesOn, s.store.Stats().Dispatched)
	c.streams.mutex.Unlock()
	s.counts.pulls.Add(1)
	if step.Hit {
		s.counts.hits.Add(1)
	}
	s.counts.wasted.Add(step.Wasted + left)
	if step.Fetch.Len == 0 {
		return
	}
	if s.fetches.Offer(fetch{step.Fetch}) {
		s.counts.fetched.Add(step.Fetch.Len)
	} else {
		s.counts.leftOut.Add(step.Fetch.Len)
	}
}

// prefetch is a background task that fetches what others will want.
func (s *Server) prefetch() {
	buffer := s.h.Memory().Get(s.config.PrefetchChunk)
	defer s.h.Memory().Put(buffer)
	var batch []fetch
	for more := true; more; {
		batch, more = s.fetches.Take(batch)
		for _, f := range batch {
			s.fetchAhead(f.span, buffer)
		}
	}
}

// fetchAhead brings a range into the page cache. What goes wrong is for him to hear who reads it.
func (s *Server) fetchAhead(span host.Span, buffer []byte) {
	for at := span.Off; at < span.Off+span.Len; {
		n := min(span.Off+span.Len, s.store.FileEnd(at)) - at
		lent, err := s.store.Lend(at)
		if err != nil {
			return // removed, or the store is closing
		}
		off := at - lent.Base()
		if s.config.Prefetch == PrefetchAdvise {
			host.Advise(lent.File(), host.Span{Off: off, Len: n}, host.AdviseWillNeed)
		} else {
			n = min(n, int64(len(buffer)))
			_, err = host.ReadFull(lent.File(), buffer[:n], off)
		}
		lent.Release()
		if err != nil {
			return
		}
		s.h.Probe().Mark(host.Event{Name: PointPrefetched, A: n})
		at += n
	}
}

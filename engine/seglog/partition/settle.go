package partition

import (
	"lakebed/engine/host"
)

// wakeSettler starts the task that seals full segments and makes checkpoints, if there is something to do: partitions may be
// many, and most are idle. The mutex is held.
func (p *Partition) wakeSettler() {
	if p.settling || p.state != open {
		return
	}
	if s, _ := p.toSettle(); s == nil {
		return
	}
	p.settling = true
	p.tasks.Go("partition-settle", p.settleAll)
}

// toSettle is the segment that needs something: the first one that is full and not sealed; else the open one, if
// its checkpoint is due and it ends a sector, with what is to be noted. The mutex is held.
func (p *Partition) toSettle() (*segment, *run) {
	for _, s := range p.segments {
		if s.full && !s.sealed {
			return s, nil
		}
	}
	if s := p.active(); s != nil && s.bytes-s.covered.bytes >= p.checkpointDue() && paddingFor(s.bytes, p.config.PadBytes) == 0 {
		return s, p.capture(s)
	}
	return nil, nil
}

// settleAll is the settling task. It ends when nothing is left to do, or when the partition stops.
func (p *Partition) settleAll() {
	for {
		p.mutex.Lock()
		var s *segment
		var r *run
		if p.state == open {
			s, r = p.toSettle()
		}
		if s == nil {
			p.settling = false
			p.mutex.Unlock()
			return
		}
		p.mutex.Unlock()
		var err error
		if r == nil {
			err = p.seal(s)
		} else {
			err = p.checkpoint(s, r)
		}
		if err != nil {
			p.fail(err) // which ends the loop
		}
	}
}

// awaitSettled waits until few enough segments are full and not sealed: their indexes are in memory, and a start has to
// write them. It does not wait when the partition stops.
func (p *Partition) awaitSettled() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for p.state == open && p.unsealed() >= p.config.UnsealedMax {
		p.h.Probe().Mark(host.Event{Name: PointUnsealedWait})
		p.wakeSettler()
		if !p.settled.Wait() {
			return
		}
	}
}

// unsealed counts the segments that are full and not sealed. The mutex is held.
func (p *Partition) unsealed() (n int) {
	for _, s := range p.segments {
		if s.full && !s.sealed {
			n++
		}
	}
	return n
}

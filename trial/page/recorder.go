package page

import (
	"fmt"
	"strings"
	"time"

	"lakebed/sim"
)

// raw is an event while it is collected: nodes by name, and all it is about.
type raw struct {
	at, end    time.Duration
	node, peer string
	kind       Kind
	text       string
	bad        bool
	refs       []ref
}

// never is the end of a raw event that has not ended.
const never time.Duration = -1

// ref is what an event is about: an entry, or a ledger as a whole.
type ref struct {
	ledger int64
	entry  int64 // wholeLedger: the ledger itself
}

const wholeLedger = -1

func (r ref) String() string {
	if r.entry == wholeLedger {
		return fmt.Sprint(r.ledger)
	}
	return fmt.Sprintf("%d/%d", r.ledger, r.entry)
}

// Recorder takes in what a world shows. Its Look is for trial.Course.
type Recorder struct {
	events  []*raw
	disks   map[int64]*raw // operations on disks under way, by task
	written map[string]*dirt
	streams map[streamKey]*stream
	asked   map[askedKey]asked
}

// dirt is what was written into a file and not yet synced.
type dirt struct{ refs []ref }

// NewRecorder makes a recorder that has seen nothing.
func NewRecorder() *Recorder {
	return &Recorder{
		disks: map[int64]*raw{}, written: map[string]*dirt{}, streams: map[streamKey]*stream{}, asked: map[askedKey]asked{},
	}
}

func (r *Recorder) add(e raw) *raw {
	r.events = append(r.events, &e)
	return &e
}

func (r *Recorder) instant(s *sim.Sight, kind Kind, text string) *raw {
	return r.add(raw{at: s.At, end: s.At, node: s.Node, kind: kind, text: text})
}

// Look takes in one thing that happened.
func (r *Recorder) Look(s *sim.Sight) {
	switch s.Kind {
	case sim.SightStart:
		r.instant(s, KindLife, fmt.Sprintf("start, process %d", s.A))
	case sim.SightExit:
		e := r.instant(s, KindLife, strings.TrimSpace("exit "+s.Text))
		e.bad = s.Text != ""
	case sim.SightCrash:
		r.crash(s)
	case sim.SightPause, sim.SightResume, sim.SightStop:
		r.instant(s, KindLife, string(s.Kind))
	case sim.SightClockJump:
		r.instant(s, KindLife, fmt.Sprintf("the clock jumps by %s", time.Duration(s.A)))
	case sim.SightBreak:
		r.instant(s, KindLife, "connection broken: "+s.Text)
	case sim.SightNetFault:
		r.instant(s, KindFault, s.Text)
	case sim.SightPerhaps:
		r.instant(s, KindMark, "perhaps: yes to "+s.Text)
	case sim.SightMark:
		r.mark(s)
	case sim.SightLog:
		r.instant(s, KindLog, s.Text)
	case sim.SightDisk:
		r.disk(s)
	case sim.SightDiskEnd:
		r.diskEnd(s)
	case sim.SightSend:
		r.send(s)
	case sim.SightReceive:
		r.receive(s)
	}
}

func (r *Recorder) crash(s *sim.Sight) {
	text := "crash"
	if s.Text != "" { // of a volume
		text = fmt.Sprintf("power cut: volume %s loses %d unsynced pages and %d names", s.Text, s.A, s.B)
	}
	r.instant(s, KindLife, text).bad = true
	for path := range r.written { // an order that nobody sees
		if strings.HasPrefix(path, s.Node+"/") {
			delete(r.written, path)
		}
	}
}

// subjectMarks are the beginnings of names of marks whose numbers are a ledger and an entry.
var subjectMarks = []string{"client.", "channel.timed-out", "channel.late", "channel.in-line", "channel.next-in-line",
	"pool.parked", "pool.lent", "pool.stalled", "pool.refused", "pool.full", "server.fence-read", "bookie.refused-", "bookie.unknown",
	"bookie.range-hole"}

// ledgerMarks are those of marks whose first number is a ledger.
var ledgerMarks = []string{"bookie.fence-", "bookie.deleted"}

func (r *Recorder) mark(s *sim.Sight) {
	text := s.Text
	if s.A != 0 || s.B != 0 {
		text = fmt.Sprintf("%s %d %d", text, s.A, s.B)
	}
	e := r.instant(s, KindMark, text)
	switch {
	case beginsWithAny(s.Text, subjectMarks) && s.B >= 0:
		e.refs = []ref{{s.A, s.B}}
	case beginsWithAny(s.Text, subjectMarks), beginsWithAny(s.Text, ledgerMarks):
		e.refs = []ref{{s.A, wholeLedger}}
	}
}

func beginsWithAny(text string, beginnings []string) bool {
	for _, b := range beginnings {
		if strings.HasPrefix(text, b) {
			return true
		}
	}
	return false
}

// disk begins an operation on a disk. It ends with the next end that its task tells, or not at all.
func (r *Recorder) disk(s *sim.Sight) {
	e := raw{at: s.At, end: never, node: s.Node, kind: KindDisk, text: fmt.Sprintf("%s %s", s.Disk, nameOf(s.Text))}
	path := s.Node + "/" + s.Text
	switch s.Disk {
	case sim.DiskWrite:
		e.kind, e.text = KindWrite, fmt.Sprintf("write %s, %d bytes at %d", nameOf(s.Text), s.Length, s.Offset)
		groups := groupsIn(s)
		if text := groups.words(); text != "" {
			e.text += ": " + text
		}
		e.refs = groups.refs
		if len(e.refs) > 0 {
			r.dirty(path).refs = append(r.dirty(path).refs, e.refs...)
		}
	case sim.DiskSync:
		e.kind = KindSync
		if d := r.written[path]; d != nil {
			e.refs = d.refs[:len(d.refs):len(d.refs)]
		}
	case sim.DiskSyncDir:
		e.kind = KindSync
	case sim.DiskRead:
		e.text = fmt.Sprintf("read %s, %d bytes at %d", nameOf(s.Text), s.Length, s.Offset)
	}
	r.disks[s.Task] = r.add(e)
}

func (r *Recorder) dirty(path string) *dirt {
	d := r.written[path]
	if d == nil {
		d = &dirt{}
		r.written[path] = d
	}
	return d
}

func (r *Recorder) diskEnd(s *sim.Sight) {
	e := r.disks[s.Task]
	if e == nil {
		return
	}
	delete(r.disks, s.Task)
	e.end = s.At
	if s.Err != nil && !isEnd(s.Err) {
		e.bad = true
		e.text += ": " + s.Err.Error()
		return
	}
	if d := r.written[s.Node+"/"+s.Text]; e.kind == KindSync && d != nil {
		d.refs = d.refs[min(len(e.refs), len(d.refs)):] // what was written meanwhile waits for the next one
	}
}

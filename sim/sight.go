package sim

import "time"

// SightKind says what an onlooker sees. The texts are those of a written trace, but for SightDiskEnd, which is no event.
type SightKind string

// What there is to see. Steps and callbacks, the scheduler's own events, are not shown.
const (
	SightStart     SightKind = "start" // Text: how; A: the epoch
	SightExit      SightKind = "exit"
	SightCrash     SightKind = "crash" // Text: how; of a power cut also, per volume, A pages and B names lost
	SightPause     SightKind = "pause"
	SightResume    SightKind = "resume"
	SightStop      SightKind = "stop" // the node is told to
	SightClockJump SightKind = "clock jump"
	SightMark      SightKind = "mark"
	SightPerhaps   SightKind = "perhaps"
	SightLog       SightKind = "log" // A: the level
	SightDisk      SightKind = "disk"
	SightDiskEnd   SightKind = "disk end" // of the operation that the same task began last; Err says how
	SightSend      SightKind = "send"
	SightReceive   SightKind = "receive"
	SightBreak     SightKind = "break"
	SightNetFault  SightKind = "net fault"
)

// Sight is something that happened in the world, for whoever looks on. It and Data are valid during the call only.
type Sight struct {
	At     time.Duration
	Kind   SightKind
	Node   string // empty: the world itself
	Task   int64  // unlike that of any other task; zero: none
	Text   string
	A, B   int64
	Disk   DiskKind // of disk and disk end
	Offset int64    // of disk
	Length int64    // of disk, send and receive
	Conn   int64    // of send and receive: both ends of a connection have the same number, from 1
	Data   [][]byte // of send, receive and writes to a disk: the bytes
	Err    error    // of disk end
}

// onlooker tells Config.Look of events. What an event has beside its record is handed over just before the event.
type onlooker struct {
	look func(*Sight)
	data [][]byte
	conn int64
}

// hand keeps what belongs to the next event.
func (o *onlooker) hand(conn int64, data [][]byte) {
	if o.look != nil {
		o.conn, o.data = conn, data
	}
}

// handOne is hand for one buffer: only an onlooker is worth the slice around it.
func (o *onlooker) handOne(conn int64, data []byte) {
	if o.look != nil {
		o.conn, o.data = conn, [][]byte{data}
	}
}

// see shows an event.
func (o *onlooker) see(r *record) {
	if r.what == actStep || r.what == actCallback {
		return
	}
	s := Sight{At: r.at, Kind: SightKind(actionNames[r.what]), Text: r.text, A: r.a, B: r.b}
	if r.node != nil {
		s.Node = r.node.name
	}
	if r.task != nil {
		s.Task = r.task.id
	}
	switch r.what {
	case actDisk:
		s.Disk, s.Offset, s.Length = DiskKind(r.a>>56), r.a&(1<<56-1), r.b>>32
		s.A, s.B = 0, 0
		if s.Disk == DiskWrite { // a task that died at its call may have left something behind
			s.Data = o.data
		}
	case actSend, actReceive:
		s.Length, s.Conn, s.Data = r.a, o.conn, o.data
	}
	o.conn, o.data = 0, nil
	o.look(&s)
}

// seeDiskEnd shows that an operation on a disk is over. It is no event: the hash knows only beginnings.
func (w *World) seeDiskEnd(t *task, kind DiskKind, path string, err error) {
	if w.trace.onlooker.look == nil {
		return
	}
	w.trace.onlooker.look(&Sight{At: w.now, Kind: SightDiskEnd, Node: t.process.node.name, Task: t.id, Text: path, Disk: kind, Err: err})
}

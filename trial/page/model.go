package page

// Page is all that is shown of a trial. Times are virtual nanoseconds; none are negative but for Open.
type Page struct {
	Title    string `json:"title"`
	Verdict  string `json:"verdict"`
	Sentence string `json:"sentence"` // the verdict, for a reader
	Failed   bool   `json:"failed"`
	Scenario string `json:"scenario"`
	About    string `json:"about"` // what the scenario is
	Seed     uint64 `json:"seed,string"`
	Defect   string `json:"defect,omitempty"`
	Hash     string `json:"trace_hash"`
	Ended    int64  `json:"ended"`
	Healed   int64  `json:"healed,omitempty"` // when the faults ended
	Replay   string `json:"replay"`           // the command that runs the trial again
	Reduced  bool   `json:"reduced,omitempty"`

	Findings []Finding   `json:"findings"`
	Accused  []Operation `json:"accused"` // the operations that contradict each other, or that never ended
	Plan     []Fault     `json:"plan"`
	Lanes    []Lane      `json:"lanes"`
	Events   []Event     `json:"events"` // by At
	LeftOut  []Gap       `json:"left_out,omitempty"`
	Copies   []Copies    `json:"copies"`   // of the entries in question
	Metadata []Version   `json:"metadata"` // of the ledgers in question
	Last     []Last      `json:"last"`     // what each node did last

	// Porcupine is the file of porcupine's own picture, beside the page; empty where porcupine did not run.
	Porcupine string `json:"porcupine,omitempty"`
	// Searched says what porcupine made of the ledger in question.
	Searched string `json:"searched,omitempty"`
}

// Open is the end of what did not end.
const Open = -1

// Finding is a broken promise.
type Finding struct {
	Checker   string `json:"checker"`
	Signature string `json:"signature"`
	Text      string `json:"text"`
}

// Operation is an operation of a client, as a row of a table.
type Operation struct {
	Event int    `json:"event"` // index in Events; negative: it was left out
	Node  string `json:"node"`
	Begin int64  `json:"begin"`
	End   int64  `json:"end"`
	Text  string `json:"text"`
}

// Fault is an element of the plan.
type Fault struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	When  string `json:"when"`
	Where string `json:"where"`
	How   string `json:"how,omitempty"`
	Fired bool   `json:"fired"`
	At    int64  `json:"at"` // if it fired
	End   int64  `json:"end"`
}

// Lane is a node.
type Lane struct {
	Name string `json:"name"`
	Role string `json:"role"` // client, metadata, bookie, store: of one node's log, its clients in its process
	Away []Span `json:"away,omitempty"`
}

// Span is a time in which a node was down or paused.
type Span struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Why  string `json:"why"` // down, paused
}

// Kind is what an event is, and what one filters by.
type Kind string

// The kinds of events, in the order in which the filter has them.
const (
	KindOperation Kind = "operation"
	KindMessage   Kind = "message"
	KindSync      Kind = "sync"
	KindWrite     Kind = "write"
	KindDisk      Kind = "disk" // reads, and operations on names
	KindMark      Kind = "mark"
	KindFault     Kind = "fault"
	KindLife      Kind = "life" // a node starts, crashes, stops; a connection breaks
	KindLog       Kind = "log"
)

// Kinds lists all kinds of events.
func Kinds() []Kind {
	return []Kind{KindOperation, KindMessage, KindSync, KindWrite, KindDisk, KindMark, KindFault, KindLife, KindLog}
}

// Event is something that has a place in the lanes.
type Event struct {
	At   int64  `json:"at"`
	End  int64  `json:"end"` // At: an instant. Open: it had no end
	Node int    `json:"node"`
	Peer int    `json:"peer"` // of a message: who was to get it; else negative
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
	Bad  bool   `json:"bad,omitempty"`
	// Refs are what the event is about: "7/3" is entry 3 of ledger 7, "7" the ledger as a whole.
	Refs []string `json:"refs,omitempty"`
	// Accused: a finding names this operation.
	Accused bool `json:"accused,omitempty"`
}

// Gap says how many events are not on the page, and how to see them.
type Gap struct {
	Count   int    `json:"count"`
	From    int64  `json:"from"`
	To      int64  `json:"to"`
	Command string `json:"command"`
}

// Copies is what became of one entry, bookie by bookie.
type Copies struct {
	Ledger  int64    `json:"ledger"`
	Entry   int64    `json:"entry"`
	Bookies []string `json:"bookies"`
	Steps   []Step   `json:"steps"` // by time
	LeftOut int      `json:"left_out,omitempty"`
}

// Step is something that happened to a bookie's copy.
type Step struct {
	At     int64  `json:"at"`
	Bookie int    `json:"bookie"` // index in Bookies
	Text   string `json:"text"`
	Tone   string `json:"tone,omitempty"` // good: it is safe or was found; open: not yet safe; bad: lost, denied
}

// Version is a state of a ledger's metadata.
type Version struct {
	At      int64  `json:"at"`
	Ledger  int64  `json:"ledger"`
	Version int64  `json:"version"`
	State   string `json:"state"`
	Text    string `json:"text"`
}

// Last is what a node did last.
type Last struct {
	Node  string `json:"node"`
	Lines []Line `json:"lines"`
}

// Line is an event in words.
type Line struct {
	At   int64  `json:"at"`
	Text string `json:"text"`
}

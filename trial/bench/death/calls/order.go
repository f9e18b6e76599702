package calls

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
)

// Key names an entry.
type Key struct {
	Ledger ledger.ID      `json:"ledger"`
	Entry  ledger.EntryID `json:"entry"`
}

// Bookie says what to look for in a bookie's trace.
type Bookie struct {
	Address string // its connections are those from here
	Journal string // its journal files are those in this directory
	// Find returns the entries whose bytes are in a buffer, as they were written.
	Find func(data []byte) []Key
}

// Violation is an acknowledgement that left too early.
type Violation struct {
	Key  Key    `json:"entry"`
	Line Line   `json:"line"` // where it began to leave
	Time string `json:"time"` // of day
	Why  string `json:"why"`
}

// String is the violation in a line.
func (v Violation) String() string {
	return fmt.Sprintf("entry %d of ledger %d was acknowledged at %s (line %d): %s", v.Key.Entry, v.Key.Ledger, v.Time, v.Line, v.Why)
}

// Report is what a trace shows.
type Report struct {
	Acknowledged int         `json:"acknowledged"` // entries
	Writes       int         `json:"writes"`       // to the journal, with entries in them
	Syncs        int         `json:"syncs"`        // of journal files
	Violations   []Violation `json:"violations"`
}

// The reasons of violations.
const (
	whyUnwritten = "its entry had not been written to the journal"
	whyUnsynced  = "no sync that began after its entry was written had returned"
)

// stored is where an entry is in the journal, and since when.
type stored struct {
	file    string
	written Line
}

// Check looks at every acknowledgement.
func Check(calls []Call, b Bookie) (Report, error) {
	r := Report{Violations: []Violation{}}
	written := map[Key]stored{}
	syncs := map[string]*syncing{}
	for i := range calls { // in the order in which they returned
		c := &calls[i]
		if !strings.HasPrefix(c.Target, b.Journal+"/") || c.Result < 0 {
			continue
		}
		if c.Name == "fdatasync" || c.Name == "fsync" {
			s := syncs[c.Target]
			if s == nil {
				s = &syncing{}
				syncs[c.Target] = s
			}
			s.calls = append(s.calls, c)
			r.Syncs++
			continue
		}
		found := b.Find(c.Data)
		for _, key := range found {
			if _, again := written[key]; !again {
				written[key] = stored{c.Target, c.End}
			}
		}
		if len(found) > 0 {
			r.Writes++
		}
	}
	for _, s := range syncs {
		s.prepare()
	}
	acks, err := acknowledgements(calls, b.Address)
	if err != nil {
		return r, err
	}
	r.Acknowledged = len(acks)
	for _, a := range acks {
		at, found := written[a.key]
		switch {
		case !found || at.written >= a.call.Begin:
			r.Violations = append(r.Violations, a.violates(whyUnwritten))
		case syncs[at.file] == nil || syncs[at.file].after(at.written) >= a.call.Begin:
			r.Violations = append(r.Violations, a.violates(whyUnsynced))
		}
	}
	return r, nil
}

// syncing holds the syncs of one file.
type syncing struct {
	calls []*Call
	first []Line // of the syncs from here on, by their begin: where the first one returned
}

func (s *syncing) prepare() {
	slices.SortFunc(s.calls, func(a, b *Call) int { return int(a.Begin - b.Begin) })
	s.first = make([]Line, len(s.calls)+1)
	s.first[len(s.calls)] = math.MaxInt
	for i := len(s.calls) - 1; i >= 0; i-- {
		s.first[i] = min(s.first[i+1], s.calls[i].End)
	}
}

// after is where the first sync returned that began behind a line.
func (s *syncing) after(line Line) Line {
	at, _ := slices.BinarySearchFunc(s.calls, line+1, func(c *Call, want Line) int { return int(c.Begin - want) })
	return s.first[at]
}

// acknowledgement is a positive answer to an add, and the call whose bytes complete it.
type acknowledgement struct {
	key  Key
	call *Call
}

func (a *acknowledgement) violates(why string) Violation {
	return Violation{Key: a.key, Line: a.call.Begin, Time: a.call.Time, Why: why}
}

// acknowledgements puts the bytes of each connection together again, and takes the answers out. A connection has one
// writer, so its calls do not overlap.
func acknowledgements(calls []Call, address string) ([]acknowledgement, error) {
	streams := map[string][]byte{} // by connection: the beginning of a frame
	var acks []acknowledgement
	for i := range calls {
		c := &calls[i]
		if !strings.Contains(c.Target, ":["+address+"->") || c.Result <= 0 {
			continue
		}
		if int64(len(c.Data)) < c.Result {
			return nil, fmt.Errorf("%w: line %d shows %d of %d bytes that were sent", ErrTrace, c.End, len(c.Data), c.Result)
		}
		rest := append(streams[c.Target], c.Data...)
		for {
			packet, behind, found := frame(rest)
			if !found {
				break
			}
			rest = behind
			var response wire.Response
			if err := response.Decode(packet); err != nil {
				return nil, fmt.Errorf("%w: line %d: an answer: %w", ErrTrace, c.End, err)
			}
			if response.Operation == wire.Add && response.Code == wire.OK {
				acks = append(acks, acknowledgement{Key{response.Ledger, response.Entry}, c})
			}
		}
		streams[c.Target] = rest
	}
	return acks, nil
}

// frame cuts the first frame off a stream: a length, and a packet of as many bytes.
func frame(stream []byte) (packet, rest []byte, found bool) {
	const lengthBytes = 4
	if len(stream) < lengthBytes {
		return nil, stream, false
	}
	end := lengthBytes + int64(binary.BigEndian.Uint32(stream))
	if int64(len(stream)) < end {
		return nil, stream, false
	}
	return stream[lengthBytes:end], stream[end:], true
}

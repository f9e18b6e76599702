package explore

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
)

// state is one state of the world. It is never changed: a step makes another one, which shares what is the same.
type state struct {
	store    []*ledger.Metadata // all there ever was; the version is the place
	bookies  [BookiesMax]bookie
	clients  [clientsMax]client
	messages []message // sorted
	calls    [clientsMax]call
	spent    budget
}

// budget counts what went wrong.
type budget struct{ timeouts, lost, stale, restarts int8 }

type bookie struct {
	fenced bool
	limbo  bool                   // cannot prove what it lacks
	copies [entriesMax + 1]copied // one more than is ever written: recoveries ask for it
}

// copied is a bookie's copy of an entry, without the payload: one entry has one payload in all this world.
type copied struct {
	held   bool
	lac    int8
	length int8
}

// last is the last entry a bookie has; -1 for none.
func (b *bookie) last() int {
	for i := entriesMax; i >= 0; i-- {
		if b.copies[i].held {
			return i
		}
	}
	return -1
}

// client is a core and what it has told. The writer is client 0.
type client struct {
	writer   *protocol.Writer
	recovery *protocol.Recovery
	encoded  []byte // AppendState

	started    bool
	closeAsked bool
	ended      bool
	succeeded  bool // ended and reported a closed ledger, of last and length
	acked      int8 // last entry that was reported as acknowledged, by the writer
	last       int8
	length     int8
}

type messageKind uint8

const (
	addRequest messageKind = iota + 1
	lacRequest
	readRequest
	addAnswer
	lacAnswer
	readAnswer
)

func (k messageKind) answer() bool { return k >= addAnswer }

// message is a request on its way to a bookie, or an answer on its way back. Orphans are requests that their client
// gave up on.
type message struct {
	kind     messageKind
	client   int8
	bookie   int8
	index    int8
	entry    int8
	orphan   bool
	recovery bool // recovery add
	plain    bool // read that does not fence
	lac      int8 // of adds, and of answers to last-entry reads
	length   int8
	add      protocol.AddOutcome
	read     protocol.ReadOutcome
}

func (m message) bytes() [12]byte {
	return [12]byte{
		byte(m.kind), byte(m.client), byte(m.bookie), byte(m.index), byte(m.entry), bit(m.orphan), bit(m.recovery),
		bit(m.plain), byte(m.lac), byte(m.length), byte(m.add), byte(m.read),
	}
}

func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}

func compare(a, b message) int {
	x, y := a.bytes(), b.bytes()
	return slices.CompareFunc(x[:], y[:], cmp.Compare[byte])
}

type callStep uint8

const (
	noCall callStep = iota
	writeRequest
	writeAnswer
	readMetadata
)

// call is a client's metadata call, and a write that it gave up on and that may still be done.
type call struct {
	step     callStep
	proposed *ledger.Metadata
	expected metadata.Version
	applied  bool // of an answer
	orphans  []orphanWrite
}

type orphanWrite struct {
	proposed *ledger.Metadata
	expected metadata.Version
}

func (s *state) current() *ledger.Metadata { return s.store[len(s.store)-1] }

func (s *state) version() metadata.Version { return metadata.Version(len(s.store) - 1) }

// clone shares all but the list of messages, which steps change.
func (s *state) clone() *state {
	c := *s
	c.messages = slices.Clone(s.messages)
	c.store = s.store[:len(s.store):len(s.store)]
	return &c
}

func (s *state) send(m message) {
	at, found := slices.BinarySearchFunc(s.messages, m, compare)
	if !found { // twice the same request has no other effect than once
		s.messages = slices.Insert(s.messages, at, m)
	}
}

// sweep drops messages that can no longer matter.
func (s *state) sweep() {
	kept := s.messages[:0]
	for _, m := range s.messages {
		if !s.clients[m.client].wants(m) {
			if m.kind.answer() {
				continue
			}
			m.orphan = true
		}
		if m.orphan && s.idle(m) {
			continue
		}
		kept = append(kept, m)
	}
	s.messages = kept
	slices.SortFunc(s.messages, compare)
	s.messages = slices.Compact(s.messages)
	for i := range s.calls {
		s.calls[i].orphans = s.liveWrites(s.calls[i].orphans)
	}
}

// wants reports whether an answer to a request, or this answer, can matter to a client.
func (k *client) wants(m message) bool {
	entry := ledger.EntryID(m.entry)
	switch {
	case k.ended:
		return false
	case k.writer != nil:
		return k.writer.WantsAdds()
	}
	switch m.kind {
	case lacRequest, lacAnswer:
		return k.recovery.WantsLAC()
	case readRequest, readAnswer:
		return k.recovery.WantsRead(entry)
	}
	return k.recovery.WantsAdd(entry)
}

// idle reports whether a request that nobody waits for could change nothing, now and for ever: fences stay, copies
// stay, and a bookie that cannot prove what it lacks takes no ordinary adds any more.
func (s *state) idle(m message) bool {
	b := &s.bookies[m.bookie]
	switch m.kind {
	case addRequest:
		if !m.recovery && (b.fenced || b.limbo) {
			return true
		}
		return b.copies[m.entry] == copied{held: true, lac: m.lac, length: m.length}
	case lacRequest, readRequest:
		return m.plain || b.fenced
	}
	return true
}

// liveWrites drops writes at versions that are gone.
func (s *state) liveWrites(writes []orphanWrite) []orphanWrite {
	var kept []orphanWrite
	for _, w := range writes {
		if w.expected == s.version() {
			kept = append(kept, w)
		}
	}
	return kept
}

type digest [16]byte

// key tells states apart.
func (s *state) key(b []byte) (digest, []byte) {
	b = append(b[:0], byte(s.spent.timeouts), byte(s.spent.lost), byte(s.spent.stale), byte(s.spent.restarts))
	b = append(b, byte(len(s.store)))
	for _, m := range s.store {
		b = appendMetadata(b, m)
	}
	for i := range s.bookies {
		k := &s.bookies[i]
		b = append(b, bit(k.fenced)<<1|bit(k.limbo))
		for _, c := range k.copies {
			b = append(b, bit(c.held), byte(c.lac), byte(c.length))
		}
	}
	for i := range s.clients {
		c := &s.clients[i]
		b = append(b, bit(c.started), bit(c.closeAsked), bit(c.ended), bit(c.succeeded), byte(c.acked), byte(c.last), byte(c.length))
		b = binary.AppendUvarint(b, uint64(len(c.encoded)))
		b = append(b, c.encoded...)
		b = s.calls[i].appendState(b)
	}
	for _, m := range s.messages {
		x := m.bytes()
		b = append(b, x[:]...)
	}
	sum := sha256.Sum256(b)
	return digest(sum[:16]), b
}

func (c *call) appendState(b []byte) []byte {
	b = append(b, byte(c.step), bit(c.applied), byte(len(c.orphans)))
	if c.proposed != nil {
		b = appendMetadata(append(b, byte(c.expected)), c.proposed)
	}
	for _, w := range c.orphans {
		b = appendMetadata(append(b, byte(w.expected)), w.proposed)
	}
	return b
}

func appendMetadata(b []byte, m *ledger.Metadata) []byte {
	b = append(b, byte(m.State), byte(m.LastEntry), byte(m.Length), byte(len(m.Fragments)))
	for _, f := range m.Fragments {
		b = append(b, byte(f.First))
		for _, id := range f.Ensemble {
			b = append(b, id[1])
		}
	}
	return b
}

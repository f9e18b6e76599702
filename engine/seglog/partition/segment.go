package partition

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"lakebed/engine/seglog/message"
)

// The files of a segment.
const (
	logSuffix   = ".log"
	indexSuffix = ".index"
	timesSuffix = ".timeindex"
)

func fileName(base Cursor, suffix string) string { return strconv.FormatInt(int64(base), 10) + suffix }

// parseName reads a cursor and a suffix out of a file's name. Only names that fileName makes are ours.
func parseName(name string) (base Cursor, suffix string, ok bool) {
	digits, rest, _ := strings.Cut(name, ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0, "", false
	}
	suffix = "." + rest
	return Cursor(n), suffix, fileName(Cursor(n), suffix) == name
}

// pair is an item of an index: cursor and position, or time and cursor.
type pair struct {
	key   uint64
	value int64
}

// segment is what is known of a segment. A sealed one does not change, but for its peak.
type segment struct {
	base   Cursor
	next   Cursor // behind its last message
	bytes  int64  // of its log
	newest Time   // largest of its messages
	peak   Time   // largest of its messages and of all before it that are still there
	sealed bool
	full   bool // takes no more, and its log is durable

	indexItems, timesItems int // of the files, once it is sealed

	// Of a segment that is not sealed.
	index, times []pair
	indexedTo    int64         // position of the last item
	began        time.Duration // on Elapsed
	covered      coverage      // by checkpoints
}

func (s *segment) empty() bool { return s.next == s.base }

// add takes up a message that lies at position of the log. It returns whether an earlier one is newer.
func (s *segment) add(position int64, size int64, at Time, indexBytes int64) (outOfOrder bool) {
	if s.empty() || position-s.indexedTo >= indexBytes {
		s.index = append(s.index, pair{uint64(s.next), position})
		s.indexedTo = position
		s.addTime()
	}
	outOfOrder = at < s.newest
	s.next++
	s.newest = max(s.newest, at)
	s.bytes = position + size
	return outOfOrder
}

// addTime notes that all messages so far have times up to the newest. An item with the same time moves up instead.
func (s *segment) addTime() {
	if s.empty() {
		return
	}
	if last := len(s.times) - 1; last >= 0 && s.times[last].key == uint64(s.newest) {
		s.times[last].value = int64(s.next)
		return
	}
	s.times = append(s.times, pair{uint64(s.newest), int64(s.next)})
}

// atMost finds the last pair whose key is at most that. Not ok: all are larger.
func atMost(pairs []pair, key uint64) (pair, bool) {
	i, found := slices.BinarySearchFunc(pairs, key, func(p pair, key uint64) int {
		switch {
		case p.key < key:
			return -1
		case p.key > key:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	if i < 0 {
		return pair{}, false
	}
	return pairs[i], true
}

// setPeaks computes the peaks anew. Segments are in order.
func setPeaks(segments []*segment) {
	var peak Time
	for _, s := range segments {
		peak = max(peak, s.newest)
		s.peak = peak
	}
}

// paddingFor is the length of the filler that brings a log of so many bytes to a multiple of pad.
func paddingFor(bytes, pad int64) int64 {
	if pad == 0 || bytes%pad == 0 {
		return 0
	}
	n := pad - bytes%pad
	if n < message.HeaderBytes {
		n += pad
	}
	return n
}

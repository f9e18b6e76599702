package ledgers

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/record"
)

// rawKind is which of the machine's limits a raw line shows.
type rawKind string

// The raw lines.
const (
	rawDisk     rawKind = "disk"
	rawLoopback rawKind = "loopback"
)

const (
	rawCopies    = 3        // as many files, and connections, as three bookies have
	rawFileBytes = 64 << 20 // of each file; it is written from start to end over and over
	fillBytes    = 1 << 20  // written at a time when a file is made
	digestBytes  = 4        // of CRC32C, the digest of the bench's ledgers
)

// rawResult is a raw line with its rounds.
type rawResult struct {
	kind     rawKind
	payload  int
	inFlight int
	rounds   []round
}

func (r rawResult) name() string {
	return fmt.Sprintf("%sraw/%s/%d/%s/%d", Prefix, r.kind, rawCopies, sizeName(r.payload), r.inFlight)
}

// roundsOf are those of the raw line that a cell is compared with: with as many copies, and as many entries under way.
func roundsOf(results []rawResult, kind rawKind, c WriteCell) []round {
	for _, r := range results {
		comparable := c.Quorum.Write == rawCopies && (kind == rawLoopback || !c.Unsynced)
		if comparable && r.kind == kind && r.payload == c.PayloadBytes && r.inFlight == c.Load.InFlight {
			return r.rounds
		}
	}
	return nil
}

// rawLines are the machine's limits beside a group of cells: one of each kind for the most and the least in flight; of the
// disk only where something is synced.
type rawLines struct {
	disks []*diskLine
	loops []*loopLine
}

// rawLines makes lines for cells of one payload. What it returns is to be closed, also with an error.
func (l *lab) rawLines(cells []WriteCell) (*rawLines, error) {
	lines := &rawLines{}
	var counts []int
	for _, c := range cells {
		if c.Quorum.Write == rawCopies {
			counts = append(counts, c.Load.InFlight)
		}
	}
	if len(counts) == 0 {
		return lines, nil
	}
	payload := cells[0].PayloadBytes
	synced := slices.ContainsFunc(cells, func(c WriteCell) bool { return !c.Unsynced })
	for _, n := range slices.Compact([]int{slices.Max(counts), slices.Min(counts)}) {
		if synced {
			if err := l.addDiskLine(lines, payload, n); err != nil {
				return lines, err
			}
		}
		loop, err := newLoopLine(payload, n)
		if err != nil {
			return lines, err
		}
		lines.loops = append(lines.loops, loop)
	}
	return lines, nil
}

func (l *lab) addDiskLine(lines *rawLines, payload, inFlight int) error {
	dir, err := l.newDir("raw")
	if err != nil {
		return err
	}
	disk, err := newDiskLine(dir, payload, inFlight, l.options.Seed)
	if err != nil {
		return err
	}
	lines.disks = append(lines.disks, disk)
	return nil
}

func (l *rawLines) arms() (arms []arm) {
	for _, d := range l.disks {
		arms = append(arms, d)
	}
	for _, d := range l.loops {
		arms = append(arms, d)
	}
	return arms
}

// results are in the order of arms.
func (l *rawLines) results(rounds [][]round) (results []rawResult) {
	for _, d := range l.disks {
		results = append(results, d.rawResult)
	}
	for _, d := range l.loops {
		results = append(results, d.rawResult)
	}
	for i := range results {
		results[i].rounds = rounds[i]
	}
	return results
}

func (l *rawLines) close() (err error) {
	for _, d := range l.disks {
		err = errors.Join(err, d.close())
	}
	for _, d := range l.loops {
		err = errors.Join(err, d.close())
	}
	return err
}

// storedBytes is an entry as bookies keep it.
func storedBytes(payload int) int { return ledger.HeaderBytes + digestBytes + payload }

// diskLine is what three journals could do at best with so many entries in flight: in three files at a time, one write
// and one fdatasync for all of them, over blocks that were written before.
type diskLine struct {
	rawResult
	dir   string
	files []*os.File
	group []byte
}

func newDiskLine(dir string, payload, inFlight int, seed uint64) (*diskLine, error) {
	d := &diskLine{rawResult: rawResult{kind: rawDisk, payload: payload, inFlight: inFlight}, dir: dir}
	size := (inFlight*storedBytes(payload) + record.Align - 1) / record.Align * record.Align
	if size > rawFileBytes/2 {
		return d, fmt.Errorf("a group of %d entries takes %d bytes, the raw line's file has %d", inFlight, size, rawFileBytes)
	}
	d.group = newContent(size, seed).next()
	for i := range rawCopies {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint("line-", i)))
		if err != nil {
			return d, errors.Join(fmt.Errorf("make a file of the raw line: %w", err), d.close())
		}
		d.files = append(d.files, f)
		if err := fill(f); err != nil {
			return d, errors.Join(fmt.Errorf("fill a file of the raw line: %w", err), d.close())
		}
	}
	return d, nil
}

func fill(f *os.File) error {
	zeros := make([]byte, fillBytes)
	for at := int64(0); at < rawFileBytes; at += fillBytes {
		if _, err := f.WriteAt(zeros, at); err != nil {
			return err
		}
	}
	return f.Sync()
}

func (d *diskLine) round(_ int, length time.Duration) (round, error) {
	return copies(d.inFlight, func(i int, over func() bool) (turns int64, err error) {
		at := int64(0)
		for ; turns == 0 || !over(); turns++ {
			if at+int64(len(d.group)) > rawFileBytes {
				at = 0
			}
			if _, err := d.files[i].WriteAt(d.group, at); err != nil {
				return turns, fmt.Errorf("raw line: %w", err)
			}
			if err := unix.Fdatasync(int(d.files[i].Fd())); err != nil {
				return turns, fmt.Errorf("raw line: sync: %w", err)
			}
			at += int64(len(d.group))
		}
		return turns, nil
	}, length)
}

func (d *diskLine) close() (err error) {
	for _, f := range d.files {
		err = errors.Join(err, f.Close())
	}
	d.files = nil
	return errors.Join(err, os.RemoveAll(d.dir))
}

// copies runs one task for each copy until a length of time is over. The slowest counts: an entry is on all three.
func copies(inFlight int, work func(i int, over func() bool) (int64, error), length time.Duration) (round, error) {
	var all sync.WaitGroup
	var turns [rawCopies]int64
	var failed [rawCopies]error
	measured, err := meter(ownCPU).begin()
	if err != nil {
		return round{}, err
	}
	over := func() bool { return time.Since(measured.at) >= length }
	for i := range rawCopies {
		all.Go(func() { turns[i], failed[i] = work(i, over) })
	}
	all.Wait()
	done := round{entries: slices.Min(turns[:]) * int64(inFlight)}
	done.elapsed, done.cpu, err = measured.end()
	return done, errors.Join(err, errors.Join(failed[:]...))
}

// loopLine is what three connections could do at best with so many entries in flight: the frames of all of them one way,
// the frames of their answers the other way, and again.
type loopLine struct {
	rawResult
	listener net.Listener
	clients  []net.Conn
	servers  sync.WaitGroup
}

func newLoopLine(payload, inFlight int) (*loopLine, error) {
	l := &loopLine{rawResult: rawResult{kind: rawLoopback, payload: payload, inFlight: inFlight}}
	var err error
	if l.listener, err = net.Listen("tcp", net.JoinHostPort(loopback, "0")); err != nil {
		return l, fmt.Errorf("listen for the raw line: %w", err)
	}
	for range rawCopies {
		c, err := net.Dial("tcp", l.listener.Addr().String())
		if err != nil {
			return l, errors.Join(fmt.Errorf("connect the raw line: %w", err), l.close())
		}
		l.clients = append(l.clients, c)
		peer, err := l.listener.Accept()
		if err != nil {
			return l, errors.Join(fmt.Errorf("accept the raw line: %w", err), l.close())
		}
		l.servers.Go(func() { l.answer(peer) })
	}
	return l, nil
}

// bytes of all requests, and of all answers, that are under way together.
func (l *loopLine) requestBytes() int {
	return l.inFlight * (wire.AddOverheadBytes + storedBytes(l.payload))
}
func (l *loopLine) answerBytes() int { return l.inFlight * wire.AddResponseFrameBytes }

// answer is a server: it ends with its connection.
func (l *loopLine) answer(peer net.Conn) {
	defer peer.Close()
	requests, answers := make([]byte, loopPieceBytes), make([]byte, l.answerBytes())
	for {
		if readPieces(peer, requests, l.requestBytes()) != nil {
			return
		}
		if _, err := peer.Write(answers); err != nil {
			return
		}
	}
}

// loopPieceBytes is how much is read or written by one call, as with the engine's own buffers.
const loopPieceBytes = 128 << 10

func readPieces(c net.Conn, piece []byte, n int) error {
	for n > 0 {
		got, err := c.Read(piece[:min(n, len(piece))])
		if err != nil {
			return err
		}
		n -= got
	}
	return nil
}

func writePieces(c net.Conn, piece []byte, n int) error {
	for n > 0 {
		got, err := c.Write(piece[:min(n, len(piece))])
		if err != nil {
			return err
		}
		n -= got
	}
	return nil
}

func (l *loopLine) round(_ int, length time.Duration) (round, error) {
	return copies(l.inFlight, func(i int, over func() bool) (turns int64, err error) {
		piece := make([]byte, loopPieceBytes)
		for ; turns == 0 || !over(); turns++ {
			if err := writePieces(l.clients[i], piece, l.requestBytes()); err != nil {
				return turns, fmt.Errorf("raw line: %w", err)
			}
			if err := readPieces(l.clients[i], piece, l.answerBytes()); err != nil {
				return turns, fmt.Errorf("raw line: %w", err)
			}
		}
		return turns, nil
	}, length)
}

func (l *loopLine) close() (err error) {
	for _, c := range l.clients {
		err = errors.Join(err, c.Close())
	}
	l.clients = nil
	if l.listener != nil {
		err = errors.Join(err, l.listener.Close())
		l.listener = nil
	}
	l.servers.Wait()
	return err
}

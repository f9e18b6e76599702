package inspect

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
)

// The names that package commitlog gives.
const (
	logDir         = "commitlog"
	queuesDir      = "consumequeue"
	indexDir       = "index"
	checkpointFile = "checkpoint"
	secondFile     = "checkpoint-b" // the older of the two is replaced
	asideSuffix    = ".bad"         // of one that a start found bad
	tailFile       = "tail"
	nameDigits     = 20
)

// ErrForeign says that there is nothing of a commit log.
var ErrForeign = errors.New("nothing of a commit log")

// inspection is one look at a store.
type inspection struct {
	*Report
	root    host.Dir
	log     host.Dir
	queues  map[string]*queue // by topic and id
	entries *entries
	known   bool // the checkpoint is
}

// Store inspects the directory of a commit log.
func Store(root host.Dir) (*Report, error) {
	v := &inspection{Report: &Report{Files: []LogFile{}, Queues: []Queue{}, Indexes: []IndexFile{}, Problems: []Problem{}}, root: root, queues: map[string]*queue{}}
	infos, err := root.List()
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	there := func(name string) bool {
		return slices.ContainsFunc(infos, func(i host.Info) bool { return i.Name == name })
	}
	if !there(logDir) {
		return nil, fmt.Errorf("there is no directory %s: %w", logDir, ErrForeign)
	}
	if v.log, err = root.Sub(logDir); err != nil {
		return nil, err
	}
	if err := v.logFiles(); err != nil {
		return nil, err
	}
	if there(tailFile) {
		v.problem(Note, Interrupted, tailFile, 0, "a start did not come to its end; the next one goes on from it")
	}
	var index []byte
	if there(checkpointFile) || there(secondFile) {
		for _, name := range []string{checkpointFile, secondFile} {
			if there(name) {
				v.checkpoint(name, &index)
			}
		}
		v.compareCheckpoint()
	} else if there(checkpointFile+asideSuffix) || there(secondFile+asideSuffix) {
		v.problem(Damage, BadCheckpoint, checkpointFile, 0, "a start found it bad, and did not come to its end: the next one makes queues and key index anew")
	} else if len(v.Files) > 0 {
		v.problem(Note, NoCheckpoint, checkpointFile, 0, "there is none: the next start makes queues and key index anew from the log")
	}
	if there(queuesDir) {
		v.openQueues()
	}
	if there(indexDir) && v.known {
		v.openIndex(index)
	}
	v.walk()
	v.endQueues()
	v.endIndex()
	return v.Report, nil
}

// parseName reads an offset out of a name of 20 digits.
func parseName(name string) (int64, bool) {
	n, err := strconv.ParseInt(name, 10, 64)
	return n, err == nil && n >= 0 && fmt.Sprintf("%0*d", nameDigits, n) == name
}

// logFiles lists the files of the log, which follow one another.
func (v *inspection) logFiles() error {
	infos, err := v.log.List()
	if err != nil {
		return fmt.Errorf("list %s: %w", logDir, err)
	}
	for _, info := range infos {
		base, ok := parseName(info.Name)
		if !ok {
			if !strings.HasSuffix(info.Name, ".spare") && !strings.HasSuffix(info.Name, host.UnfinishedSuffix) && info.Name != "LOCK" {
				v.problem(Note, Orphan, logDir+"/"+info.Name, 0, "nothing of a log's")
			}
			continue
		}
		if n := len(v.Files); n > 0 {
			if last := v.Files[n-1]; last.Base+last.Bytes != base {
				v.problem(Damage, Missing, logDir+"/"+info.Name, 0, "it follows on the file that ends at %d", last.Base+last.Bytes)
			}
		}
		v.Files = append(v.Files, LogFile{Base: base, Bytes: info.Size})
	}
	return nil
}

// checkpoint reads a checkpoint, and takes it if it is newer than what there is, with the state of the key index.
func (v *inspection) checkpoint(name string, index *[]byte) {
	p, err := readAll(v.root, name, checkpointBytesMax)
	if err != nil {
		v.problem(Damage, Unreadable, name, 0, "%v", err)
		return
	}
	c, state, queues, err := parseCheckpoint(p)
	if err != nil {
		v.problem(Damage, BadCheckpoint, name, 0, "%v", err)
		return
	}
	if v.known && v.Checkpoint.Sequence >= c.Sequence {
		return
	}
	c.File = name
	v.Checkpoint, v.known, *index = &c, true, state
	clear(v.queues)
	for _, q := range queues {
		v.queues[queueName(q.topic, q.id)] = &queue{unitsOf: q}
	}
}

// compareCheckpoint compares the checkpoint that counts with the files of the log.
func (v *inspection) compareCheckpoint() {
	c := v.Checkpoint
	if c == nil {
		return
	}
	if n := len(v.Files); n > 0 && c.Synced > v.Files[n-1].Base+v.Files[n-1].Bytes || n == 0 && c.Synced > 0 {
		v.problem(Damage, Missing, logDir, c.Synced, "the log is durable up to %d, and its files end before that", c.Synced)
	}
	if len(v.Files) > 0 && c.Dispatched < v.Files[0].Base {
		v.problem(Damage, Missing, logDir, v.Files[0].Base, "messages from %d on have no units yet, and the log begins behind them", c.Dispatched)
	}
}

func readAll(dir host.Dir, name string, bytesMax int64) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err == nil && size > bytesMax {
		err = fmt.Errorf("%d bytes, more than %d", size, bytesMax)
	}
	var p []byte
	if err == nil {
		p = make([]byte, size)
		_, err = host.ReadFull(f, p, 0)
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil // it was empty, or has become shorter
	}
	return p, errors.Join(err, f.Close())
}

// walk reads the records of all files.
func (v *inspection) walk() {
	for i, file := range v.Files {
		if i > 0 && v.Files[i-1].Base+v.Files[i-1].Bytes != file.Base {
			return // told already
		}
		if !v.walkFile(file) {
			return
		}
	}
}

// walkFile reads the records of a file. False: the log ends in it.
func (v *inspection) walkFile(file LogFile) bool {
	name := fmt.Sprintf("%0*d", nameDigits, file.Base)
	f, err := v.log.Open(name)
	if err != nil {
		v.problem(Damage, Unreadable, logDir+"/"+name, 0, "%v", err)
		return false
	}
	defer f.Close() //nolint:errcheck // it was only read
	in := reader{f: f, size: file.Bytes}
	for v.End = file.Base; in.at < in.size; v.End = file.Base + in.at {
		head, err := in.bytes(message.BlankBytes)
		if err == nil {
			kind, size := message.Peek(head)
			if kind == message.Blank && in.at+size <= in.size {
				in.at += size
				continue
			}
			err = v.record(&in, file.Base, kind, size)
		}
		if err != nil {
			v.ending(logDir+"/"+name, &in, file.Base, err)
			return false
		}
	}
	return true
}

// record reads one record.
func (v *inspection) record(in *reader, base int64, kind message.Kind, size int64) error {
	if kind != message.Record {
		return message.ErrCorrupt
	}
	p, err := in.bytes(size)
	if err != nil {
		return err
	}
	m, err := message.Decode(p, base+in.at)
	if err != nil {
		return err
	}
	v.Messages++
	v.compareUnit(&m)
	v.compareEntries(&m)
	in.at += size
	return nil
}

// ending judges where the records end.
func (v *inspection) ending(name string, in *reader, base int64, why error) {
	at := base + in.at
	elsewhere := errors.Is(why, message.ErrElsewhere)
	switch {
	case !errors.Is(why, message.ErrCorrupt) && !elsewhere:
		v.problem(Damage, Unreadable, name, at, "%v", why)
	case v.known && at < v.Checkpoint.Synced:
		v.problem(Damage, Rot, name, at, "no record, and the log is durable up to %d: %v", v.Checkpoint.Synced, why)
	case elsewhere:
		// of the former life of a file that is used again
	case !in.blank():
		v.problem(Doubt, TornTail, name, at, "bytes that are no record: %v", why)
	}
}

// reader reads a file from its beginning.
type reader struct {
	f      host.File
	size   int64
	at     int64
	buffer []byte
	from   int64
}

const readAtOnce = 1 << 20

// bytes returns the next n bytes, which are good until the next call.
func (in *reader) bytes(n int64) ([]byte, error) {
	if n < 0 || in.at+n > in.size {
		return nil, message.ErrCorrupt
	}
	if off := in.at - in.from; off >= 0 && off+n <= int64(len(in.buffer)) {
		return in.buffer[off : off+n], nil
	}
	length := min(max(n, readAtOnce), in.size-in.at)
	in.buffer, in.from = slices.Grow(in.buffer[:0], int(length))[:length], in.at
	if _, err := host.ReadFull(in.f, in.buffer, in.at); err != nil {
		in.buffer = nil
		return nil, err
	}
	return in.buffer[:n], nil
}

// blank says whether the head of a record was never written here.
func (in *reader) blank() bool {
	p, err := in.bytes(min(message.FixedBytes, in.size-in.at))
	return err == nil && !slices.ContainsFunc(p, func(b byte) bool { return b != 0 })
}

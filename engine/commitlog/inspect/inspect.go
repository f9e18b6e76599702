package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lakebed/engine/host"
	"lakebed/engine/inspection"
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

// look is one look at a store.
type look struct {
	*Report
	root    host.Dir
	log     host.Dir
	queues  map[string]*queue // by topic and id
	entries *entries
	known   bool // the checkpoint is

	skippedFrom, skippedTo int64 // of the log, the last bytes that were passed over
}

// Store inspects the directory of a commit log.
func Store(root host.Dir) (*Report, error) {
	v := &look{Report: &Report{Files: []LogFile{}, Queues: []Queue{}, Indexes: []IndexFile{}, Findings: inspection.NoFindings()}, root: root, queues: map[string]*queue{}}
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
		v.Found(inspection.Note, Interrupted, tailFile, 0, "a start did not come to its end; the next one goes on from it")
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
		v.Found(inspection.Damage, BadCheckpoint, checkpointFile, 0, "a start found it bad, and did not come to its end: the next one makes queues and key index anew")
	} else if len(v.Files) > 0 {
		v.Found(inspection.Note, NoCheckpoint, checkpointFile, 0, "there is none: the next start makes queues and key index anew from the log")
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
func (v *look) logFiles() error {
	infos, err := v.log.List()
	if err != nil {
		return fmt.Errorf("list %s: %w", logDir, err)
	}
	for _, info := range infos {
		base, ok := parseName(info.Name)
		if !ok {
			if !strings.HasSuffix(info.Name, ".spare") && !strings.HasSuffix(info.Name, host.UnfinishedSuffix) && info.Name != "LOCK" {
				v.Found(inspection.Note, Orphan, logDir+"/"+info.Name, 0, "nothing of a log's")
			}
			continue
		}
		if n := len(v.Files); n > 0 {
			if last := v.Files[n-1]; last.Base+last.Bytes != base {
				v.Found(inspection.Damage, Missing, logDir+"/"+info.Name, 0, "it follows on the file that ends at %d", last.Base+last.Bytes)
			}
		}
		v.Files = append(v.Files, LogFile{Base: base, Bytes: info.Size})
	}
	return nil
}

// checkpoint reads a checkpoint, and takes it if it is newer than what there is, with the state of the key index.
func (v *look) checkpoint(name string, index *[]byte) {
	p, err := inspection.ReadAll(v.root, name, checkpointBytesMax)
	if err != nil {
		v.Found(inspection.Damage, Unreadable, name, 0, "%v", err)
		return
	}
	c, state, queues, err := parseCheckpoint(p)
	if err != nil {
		v.Found(inspection.Damage, BadCheckpoint, name, 0, "%v", err)
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
func (v *look) compareCheckpoint() {
	c := v.Checkpoint
	if c == nil {
		return
	}
	if n := len(v.Files); n > 0 && c.Synced > v.Files[n-1].Base+v.Files[n-1].Bytes || n == 0 && c.Synced > 0 {
		v.Found(inspection.Damage, Missing, logDir, c.Synced, "the log is durable up to %d, and its files end before that", c.Synced)
	}
	if len(v.Files) > 0 && c.Dispatched < v.Files[0].Base {
		v.Found(inspection.Damage, Missing, logDir, v.Files[0].Base, "messages from %d on have no units yet, and the log begins behind them", c.Dispatched)
	}
}

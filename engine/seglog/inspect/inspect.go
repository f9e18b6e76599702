package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"lakebed/engine/host"
	"lakebed/engine/inspection"
	"lakebed/engine/seglog/message"
)

// The names that package seglog gives.
const (
	storeDir      = "mstore"
	partitionsDir = "partition"
	topicFile     = "topic"
	topicMagic    = "LAKEBED-TOPIC 1 "
	lockFile      = "LOCK"
	probeFile     = "probe"
	topicBytesMax = 1 << 20
)

// ErrForeign says that there is nothing of a segment log.
var ErrForeign = errors.New("nothing of a segment log")

// Volume inspects a data directory: the one with "mstore" in it.
func Volume(root host.Dir) (*Report, error) {
	r := &Report{Topics: []Topic{}, Findings: inspection.NoFindings()}
	base, err := below(root, storeDir)
	if err == nil {
		base, err = below(base, partitionsDir)
	}
	if err != nil {
		return nil, err
	}
	topics, err := base.List()
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	for _, info := range topics {
		if !info.Dir {
			if info.Name == probeFile {
				continue // of a look at the directory that a crash cut short
			}
			r.Found(inspection.Note, Orphan, info.Name, 0, "a file among the topics")
			continue
		}
		dir, err := base.Sub(info.Name)
		if err != nil {
			r.Found(inspection.Damage, Unreadable, info.Name, 0, "%v", err)
			continue
		}
		r.topic(info.Name, dir)
	}
	return r, nil
}

// PartitionDir inspects the directory of one partition.
func PartitionDir(name string, dir host.Dir) (*Report, error) {
	r := &Report{Findings: inspection.NoFindings()}
	infos, err := dir.List()
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", name, err)
	}
	if !slices.ContainsFunc(infos, func(i host.Info) bool { _, suffix, ok := parseName(i.Name); return ok && suffix == logSuffix }) {
		return nil, fmt.Errorf("%s: %w", name, ErrForeign)
	}
	number, _ := strconv.Atoi(name)
	r.Topics = []Topic{{Name: name, Volumes: []string{}, Partitions: []Partition{r.partition(name, number, dir)}}}
	return r, nil
}

// below opens a directory that is there: Sub would make it.
func below(dir host.Dir, name string) (host.Dir, error) {
	infos, err := dir.List()
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	if !slices.ContainsFunc(infos, func(i host.Info) bool { return i.Dir && i.Name == name }) {
		return nil, fmt.Errorf("there is no directory %s: %w", name, ErrForeign)
	}
	return dir.Sub(name)
}

func (r *Report) topic(name string, dir host.Dir) {
	t := Topic{Name: name, Volumes: []string{}, Partitions: []Partition{}}
	infos, err := dir.List()
	if err != nil {
		r.Found(inspection.Damage, Unreadable, name, 0, "%v", err)
		return
	}
	settled := false
	var numbers []int
	for _, info := range infos {
		number, err := strconv.Atoi(info.Name)
		switch {
		case info.Dir && err == nil && number >= 0 && strconv.Itoa(number) == info.Name:
			numbers = append(numbers, number)
		case info.Name == topicFile && !info.Dir:
			settled = true
			r.settings(&t, dir)
		case info.Name != topicFile+host.UnfinishedSuffix:
			r.Found(inspection.Note, Orphan, name+"/"+info.Name, 0, "nothing of a topic's")
		}
	}
	if !settled && len(numbers) > 0 {
		r.Found(inspection.Note, Missing, name+"/"+topicFile, 0, "the topic was never made, or its file lies in another directory only")
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		file := name + "/" + strconv.Itoa(number)
		if own, err := dir.Sub(strconv.Itoa(number)); err != nil {
			r.Found(inspection.Damage, Unreadable, file, 0, "%v", err)
		} else {
			t.Partitions = append(t.Partitions, r.partition(file, number, own))
		}
		if t.Version > 0 && number >= len(t.Volumes) {
			r.Found(inspection.Damage, BadTopic, file, 0, "the topic has %d partitions", len(t.Volumes))
		}
	}
	r.Topics = append(r.Topics, t)
}

// settings reads a topic's file.
func (r *Report) settings(t *Topic, dir host.Dir) {
	file := t.Name + "/" + topicFile
	text, err := inspection.ReadAll(dir, topicFile, topicBytesMax)
	if err != nil {
		r.Found(inspection.Damage, Unreadable, file, 0, "%v", err)
		return
	}
	line, body, _ := strings.Cut(string(text), "\n")
	if line != fmt.Sprintf("%s%08x", topicMagic, crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli))) {
		r.Found(inspection.Damage, BadTopic, file, 0, "its first line is not that of its content")
		return
	}
	var s struct {
		Name    string   `json:"name"`
		Version int64    `json:"version"`
		Volumes []string `json:"volumes"`
	}
	if err := json.Unmarshal([]byte(body), &s); err != nil || s.Name != t.Name || s.Version < 1 || len(s.Volumes) == 0 {
		r.Found(inspection.Damage, BadTopic, file, 0, "settings of topic %q, version %d, with %d partitions: %v", s.Name, s.Version, len(s.Volumes), err)
		return
	}
	t.Version, t.Volumes = s.Version, s.Volumes
}

// parseName reads a cursor and a suffix out of a file's name.
func parseName(name string) (base message.Cursor, suffix string, ok bool) {
	digits, rest, _ := strings.Cut(name, ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	ok = err == nil && n >= 0 && strconv.FormatInt(n, 10) == digits && slices.Contains([]string{logSuffix, indexSuffix, timesSuffix, checkpointSuffix}, "."+rest)
	return message.Cursor(n), "." + rest, ok
}

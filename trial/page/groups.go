package page

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/record"
	"lakebed/sim"
)

// nameOf is a path without what stood behind the name while the file was prepared: a file is told by the name under which
// it was opened, and may have been renamed since.
func nameOf(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(path, ".new"), ".spare")
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) }

// Parts of a group's header, as package record lays it out.
const (
	groupMagic       = "LGRP"
	groupHeaderBytes = 64
	sequenceAt       = 16
	recordBytesAt    = 40
	recordHeader     = 16
)

// The kinds of records that are about an entry or a ledger, by the suffix of the file.
const (
	journalEntry = 1
	journalFence = 3
	logEntry     = 2
)

// refsOfWriteMax bounds what is kept of one write: a flush may hold thousands of entries.
const refsOfWriteMax = 4096

// writtenGroups are the groups of records found in a write.
type writtenGroups struct {
	sequences []uint64
	records   int
	refs      []ref
}

// groupsIn reads the groups in a write of a journal or an entry log. It takes the bytes as they are: whether they are
// sound is for the engine to find out.
func groupsIn(s *sim.Sight) (g writtenGroups) {
	suffix := path.Ext(nameOf(s.Text))
	if suffix != ".journal" && suffix != ".log" {
		return g
	}
	data := slices.Concat(s.Data...)
	for len(data) >= groupHeaderBytes && string(data[:4]) == groupMagic {
		length := int(binary.BigEndian.Uint32(data[recordBytesAt:]))
		if length < 0 || length > len(data)-groupHeaderBytes {
			break
		}
		g.sequences = append(g.sequences, binary.BigEndian.Uint64(data[sequenceAt:]))
		g.take(suffix, data[groupHeaderBytes:][:length])
		whole := (groupHeaderBytes + length + record.Align - 1) / record.Align * record.Align
		data = data[min(whole, len(data)):]
	}
	return g
}

// take reads the records of one group.
func (g *writtenGroups) take(suffix string, records []byte) {
	for len(records) >= recordHeader {
		length := int(binary.BigEndian.Uint32(records))
		kind := binary.BigEndian.Uint32(records[8:])
		records = records[recordHeader:]
		if length < 0 || length > len(records) {
			return
		}
		g.records++
		if len(g.refs) < refsOfWriteMax {
			g.refs = append(g.refs, refOf(suffix, kind, records[:length])...)
		}
		records = records[length:]
	}
}

func refOf(suffix string, kind uint32, body []byte) []ref {
	switch {
	case suffix == ".journal" && kind == journalEntry, suffix == ".log" && kind == logEntry:
		if id, entry, err := ledger.Key(body); err == nil {
			return []ref{{int64(id), int64(entry)}}
		}
	case suffix == ".journal" && kind >= journalFence && len(body) >= 8:
		return []ref{{int64(binary.BigEndian.Uint64(body)), wholeLedger}}
	}
	return nil
}

func (g *writtenGroups) words() string {
	if len(g.sequences) == 0 {
		return ""
	}
	var names []string
	for _, s := range g.sequences {
		names = append(names, fmt.Sprint(s))
	}
	if len(names) > 8 {
		names = append(names[:8], "…")
	}
	return fmt.Sprintf("group %s, records: %d", strings.Join(names, ", "), g.records)
}

package inspect

import (
	"errors"
	"fmt"
	"io"

	"lakebed/engine/host"
	"lakebed/engine/inspection"
	"lakebed/engine/record"
)

// groupReader reads the groups of one record file for a report.
type groupReader struct {
	groups  *Groups
	file    host.File
	header  record.FileHeader
	scanner *record.Scanner
	ended   error
	footer  bool
}

// openGroups opens a file and checks its header. What it cannot open it reports; nil then.
func (i *inspector) openGroups(p place, kind record.FileKind, groups *Groups) *groupReader {
	groups.Name, groups.ID, groups.Bytes = p.name, p.id, p.size
	f, err := p.dir.Open(p.name)
	if err != nil {
		groups.End = "unreadable"
		i.report.found(inspection.Problem{Severity: inspection.Damage, Class: Unreadable, File: p.name}, "%v", err)
		return nil
	}
	r := &groupReader{groups: groups, file: f}
	r.header, err = record.ReadFileHeader(f, kind)
	if err == nil && r.header.ID != p.id {
		err = fmt.Errorf("the header says file %x: %w", r.header.ID, record.ErrCorrupt)
	}
	if err != nil {
		_ = f.Close() // only read
		groups.End = "unreadable"
		class := Unreadable
		if errors.Is(err, record.ErrCorrupt) || errors.Is(err, io.ErrUnexpectedEOF) {
			class = BadHeader
		}
		i.report.found(inspection.Problem{Severity: inspection.Damage, Class: class, File: p.name}, "%v", err)
		return nil
	}
	groups.Identity = fmt.Sprintf("%016x", r.header.Identity)
	r.scanTo(p.size)
	return r
}

// scanTo begins a scan that ends at size.
func (r *groupReader) scanTo(size int64) {
	r.scanner = record.NewScanner(r.file, r.header, size)
	r.groups.DataEnd = record.FileHeaderBytes
}

// next returns the next group, nil at the end.
func (r *groupReader) next() *record.View {
	v, err := r.scanner.Next()
	if err != nil {
		r.ended = err
		r.groups.End, _, _ = classify(err)
		if r.footer && r.groups.End == "clean" {
			r.groups.End = "footer"
		}
		return nil
	}
	g := r.groups
	if g.Groups == 0 {
		g.First = v.Sequence
	}
	g.Groups++
	g.Last, g.DataEnd = v.Sequence, r.scanner.Offset()
	r.footer = v.Footer
	return v
}

// each walks a group's records, counts them, and reports the first that f refuses.
func (i *inspector) each(r *groupReader, v *record.View, f func(kind record.Kind, offset int64, body []byte) error) {
	failed := false
	_ = v.Each(func(kind record.Kind, offset int64, body []byte) error {
		r.groups.Records++
		if err := f(kind, offset, body); err != nil && !failed {
			failed = true
			i.report.found(inspection.Problem{Severity: inspection.Damage, Class: BadRecord, File: r.groups.Name, Offset: offset}, "%v", err)
		}
		return nil
	})
}

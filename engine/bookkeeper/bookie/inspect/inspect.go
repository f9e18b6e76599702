package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/lastmark"
	"lakebed/engine/bookkeeper/bookie/ledgertable"
	"lakebed/engine/host"
	"lakebed/engine/inspection"
)

// Bookie inspects the two directories of a bookie and checks one against the other. The error is for a directory that
// cannot be listed; everything else is a Problem.
func Bookie(journalDir, ledgerDir host.Dir) (*Report, error) {
	return run(source{bookie.JournalVolume, journalDir}, source{bookie.LedgerVolume, ledgerDir})
}

// Directory inspects one directory by itself: what lies in the other one is not missed.
func Directory(name string, dir host.Dir) (*Report, error) { return run(source{name, dir}) }

// ErrForeign says that a file's name is not one that a bookie gives.
var ErrForeign = errors.New("not a file of a bookie, by its name")

// File inspects one file by itself. What it is follows from its name. host.ErrNotExist if there is none, ErrForeign if it
// is not a bookie's.
func File(dir host.Dir, name string) (*Report, error) {
	infos, err := dir.List()
	if err != nil {
		return nil, fmt.Errorf("inspect %s: %w", name, err)
	}
	at := slices.IndexFunc(infos, func(info host.Info) bool { return info.Name == name && !info.Dir })
	if at < 0 {
		return nil, fmt.Errorf("inspect %s: %w", name, host.ErrNotExist)
	}
	i := newInspector()
	i.sort(source{"", dir}, infos[at:at+1])
	if len(i.report.Others) > 0 {
		return nil, fmt.Errorf("inspect %s: %w: want %s, %s, %s, %s, %s or %s", name, ErrForeign,
			journal.FileName(1), entrylog.FileName(1), ledgertable.FileName(1), lastmark.FileName, bookie.CookieFile, bookie.FlawFile)
	}
	i.files()
	return &i.report, nil
}

// source is a directory to look at.
type source struct {
	name string
	dir  host.Dir
}

// place is one file to look at.
type place struct {
	dir  host.Dir
	name string
	id   uint64
	size int64
}

// inspector gathers places by what they are, and then looks at them in the order in which one explains the next.
type inspector struct {
	report  Report
	cookies []source
	marks   []place
	journal []place
	tables  []place
	logs    []place

	whole   bool // a bookie's directories were given: what is named must be there
	mark    lastmark.Mark
	marked  bool
	table   *tableContent // the one that the bookie would load
	ledgers ledgers
}

func newInspector() *inspector { return &inspector{ledgers: ledgers{}} }

func run(sources ...source) (*Report, error) {
	i := newInspector()
	i.whole = len(sources) > 1
	for _, s := range sources {
		infos, err := s.dir.List()
		if err != nil {
			return nil, fmt.Errorf("inspect the %s directory: %w", s.name, err)
		}
		i.sort(s, infos)
	}
	for _, s := range i.cookies {
		i.askWhetherInUse(s)
	}
	i.files()
	return &i.report, nil
}

// sort says what each file is, by its name.
func (i *inspector) sort(s source, infos []host.Info) {
	for _, info := range infos {
		p := place{dir: s.dir, name: info.Name, size: info.Size}
		var isJournal, isTable, isLog bool
		var log entrylog.LogID
		plain := strings.TrimSuffix(info.Name, host.UnfinishedSuffix)
		switch {
		case info.Dir:
			i.report.Others = append(i.report.Others, info.Name+"/")
			continue
		case info.Name == bookie.CookieFile:
			i.cookies = append(i.cookies, s)
			continue
		case info.Name == lastmark.FileName:
			i.marks = append(i.marks, p)
			continue
		case info.Name == bookie.FlawFile:
			i.readFlawList(s)
			continue
		case journal.IsSpare(info.Name):
			i.report.Spares = append(i.report.Spares, info.Name)
			continue
		}
		p.id, isJournal = journal.ParseFileName(plain)
		if !isJournal {
			p.id, isTable = ledgertable.ParseFileName(plain)
		}
		if !isJournal && !isTable {
			log, isLog = entrylog.ParseFileName(plain)
			p.id = max(p.id, uint64(log))
		}
		known := isJournal || isTable || isLog || plain == bookie.CookieFile || plain == lastmark.FileName || plain == bookie.FlawFile
		switch {
		case known && plain != info.Name:
			i.report.found(inspection.Problem{Severity: inspection.Note, Class: Unfinished, File: info.Name}, "was never finished")
		case isJournal:
			i.journal = append(i.journal, p)
		case isTable:
			i.tables = append(i.tables, p)
		case isLog:
			i.logs = append(i.logs, p)
		default:
			i.report.Others = append(i.report.Others, info.Name)
		}
	}
}

// askWhetherInUse takes a directory's lock for an instant. Whatever else stands in the way of that says nothing.
func (i *inspector) askWhetherInUse(s source) {
	release, err := s.dir.Lock()
	if err == nil {
		release()
	} else if errors.Is(err, host.ErrLocked) {
		i.report.InUse = append(i.report.InUse, s.name)
	}
}

// files looks at everything. The mark says what the table must hold, the table which logs count, and all three what the
// journal still has to tell.
func (i *inspector) files() {
	i.lookAtCookies()
	i.lookAtMarks()
	i.lookAtTables()
	i.lookAtLogs()
	i.lookAtJournal()
	i.report.Ledgers = i.ledgers.sorted()
	for k := range i.report.Ledgers {
		i.report.Ledgers[k].Known = i.table != nil
	}
}

func (i *inspector) lookAtCookies() {
	for _, s := range i.cookies {
		text, err := readAll(s.dir, bookie.CookieFile, smallFileBytesMax)
		var c bookie.Cookie
		if err == nil {
			c, err = bookie.DecodeCookie(text)
		}
		switch {
		case errors.Is(err, bookie.ErrCookie):
			i.report.found(inspection.Problem{Severity: inspection.Damage, Class: BadCookie, File: bookie.CookieFile}, "of the %s directory: %v", s.name, err)
			continue
		case err != nil:
			i.report.found(inspection.Problem{Severity: inspection.Damage, Class: Unreadable, File: bookie.CookieFile}, "of the %s directory: %v", s.name, err)
			continue
		}
		i.report.Cookies = append(i.report.Cookies, Cookie{s.name, c})
	}
	for k := 1; k < len(i.report.Cookies); k++ {
		a, b := i.report.Cookies[0], i.report.Cookies[k]
		if a.Cookie != b.Cookie {
			i.report.found(inspection.Problem{Severity: inspection.Damage, Class: CookieMismatch, File: bookie.CookieFile},
				"%s belongs to %s of %s, %s to %s of %s", a.Directory, a.BookieHost, a.InstanceID, b.Directory, b.BookieHost, b.InstanceID)
		}
	}
	if i.whole && len(i.cookies) < 2 && len(i.journal)+len(i.tables)+len(i.logs)+len(i.marks) > 0 {
		i.report.found(inspection.Problem{Severity: inspection.Damage, Class: Missing, File: bookie.CookieFile},
			"%d of 2 directories have a cookie, and there is data: a disk was lost or swapped", len(i.cookies))
	}
}

// readFlawList reads the scrubber's list. One that cannot be read is no damage: the bookie does without, and writes another.
func (i *inspector) readFlawList(s source) {
	text, err := readAll(s.dir, bookie.FlawFile, flawFileBytesMax)
	var list bookie.FlawList
	if err == nil {
		list, err = bookie.DecodeFlawList(text)
	}
	if err != nil {
		i.report.found(inspection.Problem{Severity: inspection.Note, Class: Unreadable, File: bookie.FlawFile}, "%v", err)
		return
	}
	i.report.Scrubbed = &list
}

// Bounds of what is read whole.
const (
	smallFileBytesMax = 64 << 10
	flawFileBytesMax  = 16 << 20
)

func readAll(dir host.Dir, name string, most int64) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	text := make([]byte, min(size, most))
	_, err = host.ReadFull(f, text, 0)
	return text, err
}

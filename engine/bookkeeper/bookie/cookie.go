package bookie

import (
	"errors"
	"fmt"
	"strings"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/lastmark"
	"lakebed/engine/bookkeeper/bookie/ledgertable"
	"lakebed/engine/host"
	"lakebed/engine/protobuf"
	"lakebed/engine/record"
)

// CookieFile is the name of the cookie in each directory, as in BookKeeper.
const CookieFile = "VERSION"

const (
	cookieVersion  = "5"
	cookieBytesMax = 64 << 10
)

// Cookie says whose directories these are: BookKeeper's Cookie, text form. A bookie whose directories do not all carry
// its own cookie does not start, so that a wiped or swapped disk is noticed instead of answering "absent".
type Cookie struct {
	BookieHost string
	JournalDir string
	LedgerDirs string
	IndexDirs  string // of a Java bookie that keeps its indexes apart; as LedgerDirs
	InstanceID string
}

func (c Config) cookie() Cookie {
	return Cookie{BookieHost: c.BookieID, JournalDir: JournalVolume, LedgerDirs: "1\t" + LedgerVolume, InstanceID: c.InstanceID}
}

// Encode returns the cookie's text: the version, then CookieFormat as protobuf text.
func (c Cookie) Encode() []byte {
	b := []byte(cookieVersion + "\n")
	b = protobuf.AppendText(b, "bookieHost", c.BookieHost)
	b = protobuf.AppendText(b, "journalDir", c.JournalDir)
	b = protobuf.AppendText(b, "ledgerDirs", c.LedgerDirs)
	b = protobuf.AppendText(b, "instanceId", c.InstanceID)
	if c.IndexDirs != "" {
		b = protobuf.AppendText(b, "indexDirs", c.IndexDirs)
	}
	return b
}

// DecodeCookie reads a cookie's text. Fields it does not know are an error, as are those that come twice: they might be
// another reason to refuse the directories.
func DecodeCookie(text []byte) (Cookie, error) {
	version, rest, _ := strings.Cut(string(text), "\n")
	if version != cookieVersion {
		return Cookie{}, fmt.Errorf("cookie version %.20q, want %q: %w", version, cookieVersion, ErrCookie)
	}
	fields, err := protobuf.ParseText([]byte(rest))
	if err != nil {
		return Cookie{}, fmt.Errorf("cookie: %w: %w", ErrCookie, err)
	}
	var c Cookie
	targets := map[string]*string{
		"bookieHost": &c.BookieHost, "journalDir": &c.JournalDir, "ledgerDirs": &c.LedgerDirs, "instanceId": &c.InstanceID,
		"indexDirs": &c.IndexDirs,
	}
	for _, f := range fields {
		target := targets[f.Name]
		if target == nil {
			return Cookie{}, fmt.Errorf("cookie field %.40q is not known, or comes twice: %w", f.Name, ErrCookie)
		}
		raw, err := f.Raw()
		if err != nil {
			return Cookie{}, fmt.Errorf("cookie: %w: %w", ErrCookie, err)
		}
		*target = string(raw)
		delete(targets, f.Name)
	}
	return c, nil
}

// checkCookies compares the directories' cookies with the configuration, and stamps directories that are new.
func (s *Store) checkCookies() error {
	want := s.config.cookie()
	volumes := []struct {
		name string
		dir  host.Dir
	}{{JournalVolume, s.journalDir}, {LedgerVolume, s.ledgerDir}}
	missing, used := 0, false
	for _, v := range volumes {
		got, err := readCookie(v.dir)
		if errors.Is(err, host.ErrNotExist) {
			missing++
		} else if err != nil {
			return fmt.Errorf("cookie of the %s directory: %w", v.name, err)
		} else if got != want {
			return fmt.Errorf("the %s directory belongs to bookie %q of %q, this is %q of %q: %w",
				v.name, got.BookieHost, got.InstanceID, want.BookieHost, want.InstanceID, ErrCookie)
		}
		has, err := holdsData(v.dir)
		if err != nil {
			return fmt.Errorf("list the %s directory: %w", v.name, err)
		}
		used = used || has
	}
	if missing == 0 {
		return nil
	}
	if used {
		return fmt.Errorf("%d of 2 directories have no cookie, but there is data: a disk was lost or swapped: %w", missing, ErrCookie)
	}
	for _, v := range volumes {
		if err := host.ReplaceFile(v.dir, CookieFile, want.Encode()); err != nil {
			return fmt.Errorf("stamp the %s directory: %w", v.name, err)
		}
	}
	return nil
}

func readCookie(dir host.Dir) (Cookie, error) {
	f, err := dir.Open(CookieFile)
	if err != nil {
		return Cookie{}, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return Cookie{}, err
	}
	if size > cookieBytesMax {
		return Cookie{}, fmt.Errorf("cookie of %d bytes: %w", size, ErrCookie)
	}
	text := make([]byte, size)
	if _, err := host.ReadFull(f, text, 0); err != nil {
		return Cookie{}, err
	}
	return DecodeCookie(text)
}

// holdsData reports whether a directory has any file that a bookie writes after its cookie.
func holdsData(dir host.Dir) (bool, error) {
	infos, err := dir.List()
	if err != nil {
		return false, err
	}
	for _, info := range infos {
		_, isJournal := journal.ParseFileName(info.Name)
		_, isLog := entrylog.ParseFileName(info.Name)
		_, isTable := ledgertable.ParseFileName(info.Name)
		if isJournal || isLog || isTable || info.Name == lastmark.FileName {
			return true, nil
		}
	}
	return false, nil
}

// isDamage tells damage of stored bytes from a failure to read them.
func isDamage(err error) bool { return errors.Is(err, record.ErrCorrupt) }

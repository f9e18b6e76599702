package node

import (
	"errors"
	"fmt"
	"strings"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

// onDisk is what the directories say before they are opened.
type onDisk struct {
	stamped    int    // directories that have a cookie
	instanceID string // of one of them
}

// identity is what was decided about a bookie that may serve.
type identity struct {
	made    bool // the metadata store has the cookie
	resumed bool // the directories were stamped before
}

// directories is how many directories a bookie has: one for the journal, one for ledgers.
const directories = 2

// settleIdentity decides whether these directories may serve under this name, and sets the instance id with which the
// storage checks, or stamps, them. Nothing is written to
// the directories: a wiped bookie must not look stamped when it is started for the second time.
func (n *node) settleIdentity() (identity, error) {
	disk, err := n.readDirectories()
	if err != nil {
		return identity{}, err
	}
	cluster, err := n.instanceID(disk)
	if err != nil {
		return identity{}, err
	}
	n.cluster = cluster
	var stored metadata.Cookie
	err = n.awaited("read the cookie", func(s *host.Scope) (err error) {
		stored, _, err = n.cookies.Read(n.id, s)
		return err
	})
	made := err == nil
	if err != nil && !errors.Is(err, metadata.ErrNotExist) {
		if errors.Is(err, metadata.ErrContent) {
			err = n.refused("%w: %w", bookie.ErrCookie, err)
		}
		return identity{}, err
	}
	if n.config.Store.InstanceID, err = n.decide(cluster, disk, stored, made); err != nil {
		return identity{}, err
	}
	if want := n.cookie(); made && stored != want {
		return identity{}, n.refused("the cookie in the metadata store is %+v, that of this bookie is %+v: %w", stored, want, bookie.ErrCookie)
	}
	return identity{made: made, resumed: disk.stamped == directories}, nil
}

// decide returns the instance id that the directories must carry, by the table in the package comment.
func (n *node) decide(cluster string, disk onDisk, stored metadata.Cookie, made bool) (string, error) {
	if disk.stamped > 0 && !strings.HasPrefix(disk.instanceID, cluster+"/") {
		return "", n.refused("the directories belong to %q, the cluster is %q: %w", disk.instanceID, cluster, bookie.ErrCookie)
	}
	switch {
	case made && disk.stamped < directories:
		return "", n.refused("the bookie has served before, and %d of its %d directories have no cookie: %w",
			directories-disk.stamped, directories, bookie.ErrCookie)
	case made && stored.InstanceID != disk.instanceID:
		return "", n.refused("the directories carry %q, the metadata store has %q: they are of another life of this bookie: %w",
			disk.instanceID, stored.InstanceID, bookie.ErrCookie)
	case disk.stamped > 0:
		return disk.instanceID, nil
	}
	// The clock is mixed in for hosts that start again with the same seed.
	stamp := n.h.Rand("cookie-stamp").Uint64() + uint64(n.h.Now())
	return fmt.Sprintf("%s/%016x", cluster, stamp), nil
}

// refused makes an error and tells the world.
func (n *node) refused(format string, args ...any) error {
	n.h.Probe().Mark(host.Event{Name: PointCookieRefused, Extra: string(n.id)})
	return fmt.Errorf(format, args...)
}

// instanceID waits for the cluster's identity. Only a bookie whose directories are blank may make a cluster: stamps say
// that there was one, and that the store has lost it.
func (n *node) instanceID(disk onDisk) (id string, err error) {
	err = n.awaited("read the cluster's identity", func(s *host.Scope) (err error) {
		id, err = n.cookies.InstanceID(s)
		if errors.Is(err, metadata.ErrNotInitialized) && n.config.Initialize && disk.stamped == 0 {
			id, err = n.cookies.Initialize(s)
		}
		return err
	})
	if !errors.Is(err, metadata.ErrNotInitialized) {
		return id, err
	}
	if disk.stamped > 0 {
		return "", n.refused("%w: %w: the directories belong to %q, whose metadata are not in this store: bring them back, or connect to the store that has them",
			bookie.ErrCookie, err, disk.instanceID)
	}
	return "", fmt.Errorf("%w: if the cluster is new, start one bookie with Initialize set in its configuration; if not, the store is the wrong one or has lost the cluster's metadata", err)
}

// cookie is the store's cookie for the instance id that was decided on: in the same words as the directories'.
func (n *node) cookie() metadata.Cookie {
	return metadata.Cookie{
		Bookie: n.id, JournalDir: bookie.JournalVolume, LedgerDirs: "1\t" + bookie.LedgerVolume,
		InstanceID: n.config.Store.InstanceID,
	}
}

// makeCookie makes the store's cookie. The directories are stamped, durably, and hold nothing that anybody was told of.
func (n *node) makeCookie(resumed bool) error {
	n.h.Probe().Mark(host.Event{Name: PointBetween, Extra: string(n.id)})
	err := n.awaited("make the cookie", func(s *host.Scope) error { return n.cookies.Create(n.cookie(), s) })
	if errors.Is(err, metadata.ErrExist) {
		return n.refused("another bookie of this name was first: %w: %w", bookie.ErrCookie, err)
	}
	if err != nil {
		return err
	}
	point := PointCookieMade
	if resumed {
		point = PointCookieResumed
	}
	n.h.Probe().Mark(host.Event{Name: point, Extra: string(n.id)})
	return nil
}

// readDirectories looks for cookies. It takes no locks: bookie.Open does, and checks what it then finds against what is
// decided here.
func (n *node) readDirectories() (onDisk, error) {
	var found onDisk
	for _, volume := range []string{bookie.JournalVolume, bookie.LedgerVolume} {
		dir, err := n.h.Disk(volume)
		if err != nil {
			return onDisk{}, fmt.Errorf("open the %s directory: %w", volume, err)
		}
		cookie, err := readCookie(dir)
		if errors.Is(err, host.ErrNotExist) {
			continue
		}
		if errors.Is(err, bookie.ErrCookie) {
			return onDisk{}, n.refused("cookie of the %s directory: %w", volume, err)
		}
		if err != nil {
			return onDisk{}, fmt.Errorf("cookie of the %s directory: %w", volume, err)
		}
		found.stamped++
		found.instanceID = cookie.InstanceID
	}
	return found, nil
}

// cookieBytesMax bounds what is taken for a cookie.
const cookieBytesMax = 64 << 10

func readCookie(dir host.Dir) (bookie.Cookie, error) {
	f, err := dir.Open(bookie.CookieFile)
	if err != nil {
		return bookie.Cookie{}, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return bookie.Cookie{}, err
	}
	if size > cookieBytesMax {
		return bookie.Cookie{}, fmt.Errorf("%d bytes: %w", size, bookie.ErrCookie)
	}
	text := make([]byte, size)
	if _, err := host.ReadFull(f, text, 0); err != nil {
		return bookie.Cookie{}, err
	}
	return bookie.DecodeCookie(text)
}

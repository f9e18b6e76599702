package partition

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lakebed/engine/host"
)

// listing is what lies in the directory.
type listing struct {
	segments    []Cursor // those with a log, and those behind the first of them that have other files
	logs        []Cursor
	checkpoints []Cursor
	sizes       map[string]int64 // of all files
	aside       int              // files that starts have set aside
}

func (l *listing) holds(name string) bool {
	_, ok := l.sizes[name]
	return ok
}

// has reports whether a cursor is among these, which are in order.
func has(sorted []Cursor, base Cursor) bool {
	_, found := slices.BinarySearch(sorted, base)
	return found
}

// tidy removes what a crash left unfinished, and what it left of segments whose removal was not completed: files without a log,
// before all logs. Where others have no log it is lost. It returns what is left in order. No message can be lost by that: an
// unfinished file's original is there until the rename, and retention removes a log, durably, before what speaks of it.
func (p *Partition) tidy() (there listing, err error) {
	entries, err := p.place.Dir.List()
	if err != nil {
		return there, fmt.Errorf("list: %w", err)
	}
	there.sizes = make(map[string]int64, len(entries))
	for _, e := range entries {
		there.sizes[e.Name] = e.Size
		base, suffix, ok := parseName(e.Name)
		if !ok || e.Dir {
			continue
		}
		switch {
		case suffix == logSuffix:
			there.logs = append(there.logs, base)
		case suffix == checkpointSuffix:
			there.checkpoints = append(there.checkpoints, base)
		case suffix == indexSuffix || suffix == timesSuffix:
		default:
			if strings.Contains(suffix, asideSuffix) {
				there.aside++
			}
			continue
		}
		there.segments = append(there.segments, base)
	}
	for _, cursors := range []*[]Cursor{&there.segments, &there.logs, &there.checkpoints} {
		slices.Sort(*cursors) // as numbers: the names are not padded
	}
	there.segments = slices.Compact(there.segments)
	var removed []Cursor
	if len(there.logs) > 0 { // a removal leaves one always
		for there.segments[0] < there.logs[0] {
			removed, there.segments = append(removed, there.segments[0]), there.segments[1:]
		}
	}
	for _, e := range entries {
		name, unfinished := strings.CutSuffix(e.Name, host.UnfinishedSuffix)
		base, suffix, ok := parseName(name)
		if !ok || e.Dir || strings.Contains(suffix, asideSuffix) {
			continue // not ours, or not to be touched again
		}
		if unfinished || has(removed, base) {
			if err := p.place.Dir.Remove(e.Name); err != nil {
				return there, fmt.Errorf("remove %s: %w", e.Name, err)
			}
		}
	}
	return there, nil
}

// asideSuffix marks a file that a start has set aside. Listings pass it by; the inspector tells of it; nothing reads it again.
const asideSuffix = ".aside"

// asideFilesMax bounds the files that are set aside in a partition. No start makes them but where a log is gone, and all that
// its index files and checkpoints say too.
const asideFilesMax = 64

// setNamelessAside renames files of segments that have no log, and of which none says what was in it: foreign ones, or an index
// that has rotted too. They must not count as the next segment of a log, and that is a guess: their names may be all that
// is left of a segment. So they stay for whoever looks. There is no message in them. Beyond the bound they are removed.
func (p *Partition) setNamelessAside(there *listing) error {
	var kept []Cursor
	for _, base := range there.segments {
		tells := has(there.logs, base)
		if !tells {
			var err error
			if tells, err = p.tells(base); err != nil {
				return fmt.Errorf("segment %d: %w", base, err)
			}
		}
		if tells {
			kept = append(kept, base)
			continue
		}
		p.h.Log(host.Error, "files without a log, of which none says what was in it, are set aside",
			host.F("partition", p.place.Name), host.F("segment", int64(base)))
		for _, suffix := range []string{indexSuffix, timesSuffix, checkpointSuffix} {
			if !there.holds(fileName(base, suffix)) {
				continue
			}
			if err := p.setAside(base, suffix, there); err != nil {
				return err
			}
		}
	}
	there.segments = kept
	return nil
}

// setAside renames a file, and never over one that was set aside before. If a crash undoes that the next start does it again.
func (p *Partition) setAside(base Cursor, suffix string, there *listing) error {
	p.forgetFile(base, suffix)
	name := fileName(base, suffix)
	if there.aside >= asideFilesMax {
		p.h.Log(host.Error, "so many files are set aside already that this one is removed", host.F("partition", p.place.Name), host.F("file", name))
		return p.drop(base, suffix)
	}
	to := name + asideSuffix
	for n := 2; there.holds(to); n++ {
		to = fmt.Sprintf("%s%s-%d", name, asideSuffix, n)
	}
	if err := p.place.Dir.Rename(name, to); err != nil {
		return fmt.Errorf("set %s aside: %w", name, err)
	}
	there.sizes[to] = there.sizes[name]
	there.aside++
	return nil
}

// markLost puts an empty log in the place of one that is lost: behind it retention will remove segments, and without a log this
// one would look like one of those.
func (p *Partition) markLost(base Cursor) error {
	f, err := p.place.Dir.Create(fileName(base, logSuffix))
	if errors.Is(err, host.ErrNoSpace) {
		return nil // the next start
	}
	if err == nil {
		err = errors.Join(f.Close(), p.place.Dir.SyncDir())
	}
	if err != nil {
		return fmt.Errorf("mark log %d as lost: %w", base, err)
	}
	return nil
}

// tells reports whether a file of a segment that has no log says what was in it.
func (p *Partition) tells(base Cursor) (bool, error) {
	index, err := p.loadHeader(base, indexSuffix, kindIndex)
	if index != nil || err != nil {
		return index != nil, err
	}
	times, err := p.loadHeader(base, timesSuffix, kindTimes)
	if times != nil || err != nil {
		return times != nil, err
	}
	content, err := p.readCheckpoints(base)
	if err != nil || content == nil {
		return false, err
	}
	defer p.h.Memory().Put(content)
	return decodeCheckpoints(content, base) != nil, nil
}

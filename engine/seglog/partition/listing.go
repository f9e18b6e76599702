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
}

// has reports whether a cursor is among these, which are in order.
func has(sorted []Cursor, base Cursor) bool {
	_, found := slices.BinarySearch(sorted, base)
	return found
}

// tidy removes what a crash left unfinished, and what it left of segments whose removal was not completed: files without a log,
// before all logs. Where others have no log it is lost. It returns what is left in order.
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
		base, _, ok := parseName(name)
		if !ok || e.Dir {
			continue // not ours
		}
		if unfinished || has(removed, base) {
			if err := p.place.Dir.Remove(e.Name); err != nil {
				return there, fmt.Errorf("remove %s: %w", e.Name, err)
			}
		}
	}
	return there, nil
}

// dropNameless removes files of segments that have no log, and of which none says what was in it: foreign ones, or an index
// that has rotted too. They must not count as the next segment of a log.
func (p *Partition) dropNameless(there *listing) error {
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
		p.h.Log(host.Error, "files without a log, of which none says what was in it, are removed",
			host.F("partition", p.place.Name), host.F("segment", int64(base)))
		for _, suffix := range []string{indexSuffix, timesSuffix, checkpointSuffix} {
			if err := p.drop(base, suffix); err != nil {
				return err
			}
		}
	}
	there.segments = kept
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

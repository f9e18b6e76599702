package partition

import (
	"fmt"

	"lakebed/engine/host"
)

// keepInPlace takes what is whole of the newest log where it lies, since there is no room for a copy. What the page cache holds
// of it may not be on the disk, and count as clean: so it is read from the device, and what is there is. The segment is full
// then. Where the machine cannot read so, only what its checkpoints cover can be served.
func (p *Partition) keepInPlace(known *segment, noSpace error) ([]*segment, error) {
	f, err := p.place.Dir.Open(fileName(known.base, logSuffix))
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is synced
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size == 0 && known.empty() { // there is nothing to be in doubt about
		return []*segment{{base: known.base, next: known.next, began: p.h.Elapsed()}}, p.place.Dir.SyncDir()
	}
	if reader, ok := f.(host.PastCacheReader); ok {
		if err := f.Sync(); err != nil {
			return nil, fmt.Errorf("sync log %d: %w", known.base, err)
		}
		err = p.scanFile(deviceFile{f, reader}, known, noLimit, func(r found, at Time) error {
			known.take(&r, 0, at, p.config.IndexBytes)
			return nil
		})
		known.addTime()
		if err == nil && !known.empty() {
			noSpace = nil
		}
	}
	if err == nil {
		err = noSpace
	}
	if known.empty() { // only its name tells the next cursor, which must not be passed over as if there were no segment
		return nil, err
	}
	p.h.Probe().Mark(host.Event{Name: PointKeptInPlace, A: int64(known.next), B: known.bytes})
	return []*segment{known}, err
}

// deviceFile is a file that is read past the page cache.
type deviceFile struct {
	host.File
	reader host.PastCacheReader
}

func (f deviceFile) ReadAt(p []byte, off int64) (int, error) { return f.reader.ReadPastCache(p, off) }

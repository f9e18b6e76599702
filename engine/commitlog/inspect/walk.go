package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"lakebed/engine/commitlog/message"
	"lakebed/engine/inspection"
)

// walk reads the records of all files. Behind a file that is missing, which was told, it goes on with the next.
func (v *look) walk() {
	for i, file := range v.Files {
		if i > 0 {
			if end := v.Files[i-1].Base + v.Files[i-1].Bytes; end != file.Base {
				v.skip(end, file.Base)
			}
		}
		if !v.walkFile(file) {
			return
		}
	}
}

// skip notes that what the log has there was not read.
func (v *look) skip(from, to int64) {
	if from != v.skippedTo {
		v.skippedFrom = from
	}
	v.skippedTo = to
}

// walkFile reads the records of a file. False: the log ends in it.
func (v *look) walkFile(file LogFile) bool {
	name := fmt.Sprintf("%s/%0*d", logDir, nameDigits, file.Base)
	f, err := v.log.Open(fmt.Sprintf("%0*d", nameDigits, file.Base))
	if err != nil {
		v.Found(inspection.Damage, Unreadable, name, 0, "%v", err)
		return v.skipRest(file, file.Base)
	}
	defer f.Close() //nolint:errcheck // it was only read
	in := reader{inspection.NewReader(f, file.Bytes, message.ErrCorrupt)}
	for v.End = file.Base; in.At < in.Size; v.End = file.Base + in.At {
		head, err := in.Bytes(fillerBytes)
		if err == nil {
			var passed bool
			if passed, err = in.filler(head, file.Base); passed {
				continue
			}
			if err == nil {
				kind, size := message.Peek(head)
				err = v.record(&in, file.Base, kind, size)
			}
		}
		if err != nil && !v.ending(name, &in, file, err) {
			return v.End == file.Base+file.Bytes
		}
	}
	return true
}

// skipRest passes over the rest of a file if the log is durable behind it; false: the log ends here.
func (v *look) skipRest(file LogFile, from int64) bool {
	end := file.Base + file.Bytes
	if !v.known || end > v.Checkpoint.Synced {
		return false
	}
	v.skip(from, end)
	v.Skipped += end - from
	v.End = end
	return true
}

// record reads one record.
func (v *look) record(in *reader, base int64, kind message.Kind, size int64) error {
	if kind != message.Record {
		return message.ErrCorrupt
	}
	m, err := in.whole(base, size)
	if err != nil {
		return err
	}
	v.Messages++
	v.compareUnit(&m)
	v.compareEntries(&m)
	in.At += size
	return nil
}

// ending judges bytes that are no record. Where the log is durable it goes on with the next whole record; false: in this file there
// is none.
func (v *look) ending(name string, in *reader, file LogFile, why error) bool {
	at := file.Base + in.At
	elsewhere := errors.Is(why, message.ErrElsewhere)
	switch {
	case !errors.Is(why, message.ErrCorrupt) && !elsewhere:
		v.Found(inspection.Damage, Unreadable, name, at, "%v", why)
		v.skipRest(file, at)
		return false
	case v.known && at < v.Checkpoint.Synced:
		searched, found := in.search(file.Base)
		if !found {
			v.Found(inspection.Damage, Rot, name, at, "no record, and the log is durable up to %d: %v; none begins in the %d bytes behind it", v.Checkpoint.Synced, why, searched)
			v.skipRest(file, at)
			return false
		}
		v.Found(inspection.Damage, Rot, name, at, "no record, and the log is durable up to %d: %v; %d bytes are skipped: the next whole record lies at %d",
			v.Checkpoint.Synced, why, searched, file.Base+in.At)
		v.skip(at, file.Base+in.At)
		v.Skipped += searched
		return true
	case !in.blank():
		where := ""
		if searched, found := in.search(file.Base); found {
			place, count := file.Base+in.At, in.strays(file.Base)
			v.Stray += count
			where = fmt.Sprintf("; the next whole record lies %d bytes behind, at %d: a start cuts off what is behind the first, %d messages in a row", searched, place, count)
		}
		if elsewhere && where == "" {
			break // of the former life of a file that is used again, and nothing of this one behind it
		}
		v.Found(inspection.Doubt, TornTail, name, at, "bytes that are no record: %v%s", why, where)
	}
	return false
}

// The layout of a blank, as package message documents it.
const (
	fillerMagic   = 0xCBD43194
	fillerBytes   = 20
	fillerPlaceAt = 8
	fillerSumAt   = 16
)

// filler passes over the blank that lies at the reader's place; not passed: none begins there. An error: it is torn, or of another place.
func (in *reader) filler(head []byte, base int64) (passed bool, err error) {
	order := binary.BigEndian
	if order.Uint32(head[4:]) != fillerMagic {
		return false, nil
	}
	p, at := head[:fillerBytes], base+in.At
	reach, place := int64(order.Uint32(p)), int64(order.Uint64(p[fillerPlaceAt:]))
	switch {
	case crc32.Checksum(p[:fillerSumAt], crc32.MakeTable(crc32.Castagnoli)) != order.Uint32(p[fillerSumAt:]):
		return false, fmt.Errorf("the checksum of the blank at %d does not fit: %w", at, message.ErrCorrupt)
	case place != at:
		return false, fmt.Errorf("the blank at %d says that it lies at %d: %w", at, place, message.ErrElsewhere)
	case reach < fillerBytes || in.At+reach > in.Size:
		return false, fmt.Errorf("the blank at %d has %d bytes: %w", at, reach, message.ErrCorrupt)
	}
	in.At += reach
	return true, nil
}

// The bounds of one search for the next whole record.
const (
	searchBytesMax = 64 << 20  // it begins so many bytes behind the place at most
	testedBytesMax = 256 << 20 // records that might be whole have so many bytes together
)

// physicalAt is where a record says where it lies.
const physicalAt = 28

// search goes to the next whole record of a file, which says itself that it lies there, and stays where it is if there is none. It
// returns how many bytes it has passed over, or searched.
func (in *reader) search(base int64) (searched int64, found bool) {
	from, tested := in.At, int64(0)
	last := min(in.Size-message.FixedBytes, from+searchBytesMax)
	for at := from + 1; at <= last && tested < testedBytesMax; at++ {
		in.At = at
		head, err := in.Bytes(physicalAt + 8)
		if err != nil {
			break // the machine cannot read on
		}
		kind, size := message.Peek(head)
		if kind != message.Record || at+size > in.Size || int64(binary.BigEndian.Uint64(head[physicalAt:])) != base+at {
			continue
		}
		tested += size
		if _, err := in.whole(base, size); err == nil {
			return at - from, true
		}
	}
	searched = max(0, in.At-from)
	in.At = from
	return searched, false
}

// whole reads a record of this size.
func (in *reader) whole(base, size int64) (message.Message, error) {
	p, err := in.Bytes(size)
	if err != nil {
		return message.Message{}, err
	}
	return message.Decode(p, base+in.At)
}

// strays counts the messages from here on, as far as whole ones follow one another in the file.
func (in *reader) strays(base int64) (count int64) {
	for in.At < in.Size {
		head, err := in.Bytes(fillerBytes)
		if err != nil {
			break
		}
		if passed, err := in.filler(head, base); err != nil {
			break
		} else if passed {
			continue
		}
		kind, size := message.Peek(head)
		if kind != message.Record {
			break
		}
		if _, err = in.whole(base, size); err != nil {
			break
		}
		count++
		in.At += size
	}
	return count
}

// reader reads a file from its beginning.
type reader struct{ inspection.Reader }

// blank says whether the head of a record was never written here.
func (in *reader) blank() bool {
	p, err := in.Bytes(min(message.FixedBytes, in.Size-in.At))
	return err == nil && !slices.ContainsFunc(p, func(b byte) bool { return b != 0 })
}

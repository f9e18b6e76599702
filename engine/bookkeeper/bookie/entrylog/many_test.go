package entrylog_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/record"
)

// many reads some following entries and compares them with the model. It returns how many came.
func (l *library) many(w entrylog.Wanted) (int, error) {
	found, buffer, err := l.logs.ReadMany(w, nil)
	if err != nil {
		return 0, fmt.Errorf("read %+v: %w", w, err)
	}
	defer l.h.Memory().Put(buffer)
	total := int64(0)
	for i, got := range found {
		total += int64(len(got))
		k := key{w.Ledger, w.First + ledger.EntryID(i)}
		if !bytes.Equal(got, l.model[k]) {
			return 0, fmt.Errorf("%v reads %.50x as part of %+v, want %.50x", k, got, w, l.model[k])
		}
	}
	if len(found) == 0 || w.First+ledger.EntryID(len(found))-1 > w.Last || w.Bytes > 0 && len(found) > 1 && total > w.Bytes {
		return 0, fmt.Errorf("%d entries of %d bytes for %+v", len(found), total, w)
	}
	return len(found), nil
}

// ranges reads from every seventh entry on, with bounds that differ.
func (l *library) ranges(keys []key) error {
	for i, k := range keys {
		if l.deleted[k.ledger] || i%7 != 0 {
			continue
		}
		if _, err := l.many(entrylog.Wanted{Ledger: k.ledger, First: k.entry, Last: k.entry + ledger.EntryID(i%50), Bytes: int64(i % 3 * 700)}); err != nil {
			return err
		}
	}
	return nil
}

// TestManyAreReadTogetherUpToWhereANewerRunBegins: older versions of what is there lie right behind in the same log.
func TestManyAreReadTogetherUpToWhereANewerRunBegins(t *testing.T) {
	testInLibrary(t, func(t *testing.T, l *library) error {
		if err := l.flush(0, 50, dense(1, 0, 30)...); err != nil {
			return err
		}
		if err := l.flush(1, 50, key{1, 10}, key{1, 12}, key{1, 13}); err != nil {
			return err
		}
		for _, c := range []struct {
			first ledger.EntryID
			bytes int64
			want  int
		}{
			{0, 0, 10}, {9, 0, 1}, // up to the newer run
			{10, 0, 1}, {11, 0, 1}, {12, 0, 2}, // in it, in its hole, and on to its end
			{14, 0, 16}, {14, 3 * 82, 3}, {14, 3*82 - 1, 2}, {14, 1, 1}, // behind it, within the bounds
		} {
			got, err := l.many(entrylog.Wanted{Ledger: 1, First: c.first, Last: 29, Bytes: c.bytes})
			if err != nil || got != c.want {
				t.Errorf("from %d with %d bytes: %d entries, %v; want %d", c.first, c.bytes, got, err, c.want)
			}
		}
		if _, _, err := l.logs.ReadMany(entrylog.Wanted{Ledger: 1, First: 30, Last: 40}, nil); !errors.Is(err, entrylog.ErrAbsent) {
			t.Errorf("behind the last: %v", err)
		}
		return nil
	})
}

// TestABadRecordEndsWhatIsReadTogether in front of it, and is an error for whoever begins there.
func TestABadRecordEndsWhatIsReadTogether(t *testing.T) {
	testInLibrary(t, func(t *testing.T, l *library) error {
		if err := l.closed(); err != nil {
			return err
		}
		stride := int64(record.HeaderSize + ledger.HeaderBytes + 600)
		third := int64(record.FileHeaderBytes+record.GroupHeaderSize+24) + 2*stride
		if err := l.volume.Model().Rot(entrylog.FileName(1), third+record.HeaderSize+100, 0); err != nil {
			return err
		}
		if got, err := l.many(entrylog.Wanted{Ledger: 1, First: 0, Last: 3}); got != 2 || err != nil {
			t.Errorf("%d entries in front of the bad one, %v", got, err)
		}
		if _, _, err := l.logs.ReadMany(entrylog.Wanted{Ledger: 1, First: 2, Last: 3}, nil); !entrylog.IsDamage(err) {
			t.Errorf("from the bad one on: %v", err)
		}
		if got, err := l.many(entrylog.Wanted{Ledger: 1, First: 3, Last: 39}); got == 0 || err != nil {
			t.Errorf("%d entries behind it, %v", got, err)
		}
		return nil
	})
}

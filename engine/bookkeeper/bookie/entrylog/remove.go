package entrylog

import (
	"errors"
	"fmt"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// Drop forgets a ledger that was deleted. Its bytes stay until nothing else lives in their logs.
func (l *Logs) Drop(id ledger.ID) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for len(l.index[id]) > 0 {
		l.detach(id, l.index[id][0].log)
	}
}

// Dead lists the logs in which no ledger lives any more, apart from the one that is being written and from damaged ones,
// of which nobody knows what lived there.
func (l *Logs) Dead() []LogID {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var dead []LogID
	for _, id := range host.SortedKeys(l.logs) {
		if f := l.logs[id]; f.ledgers == 0 && f != l.open && !f.damaged && !f.gone {
			dead = append(dead, id)
		}
	}
	return dead
}

// Retire takes dead logs out of States, so that the next write of the ledger table no longer names them.
func (l *Logs) Retire(ids []LogID) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, id := range ids {
		l.logs[id].gone = true
	}
}

// Remove deletes the files of retired logs. The table must no longer name them: a crash in between leaves files that
// the next start removes. Readers that are still in such a log finish first.
func (l *Logs) Remove(ids []LogID) error {
	for _, id := range ids {
		l.forget(id)
		if err := l.dir.Remove(FileName(id)); err != nil && !errors.Is(err, host.ErrNotExist) {
			return fmt.Errorf("remove entry log %s: %w", FileName(id), err)
		}
		l.h.Probe().Mark(host.Event{Name: PointRemoved, A: int64(id)})
	}
	if len(ids) == 0 {
		return nil
	}
	if err := l.dir.SyncDir(); err != nil {
		return fmt.Errorf("sync directory after removing entry logs: %w", err)
	}
	return nil
}

func (l *Logs) forget(id LogID) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	f := l.logs[id]
	if f == nil {
		return
	}
	delete(l.logs, id)
	if f.pins == 0 {
		_ = f.file.Close()
	}
}

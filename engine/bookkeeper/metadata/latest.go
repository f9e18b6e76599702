package metadata

import (
	"fmt"

	"lakebed/engine/host"
)

// latestTriesMax bounds how often reads are made again because the session ended between them.
const latestTriesMax = 100

// Latest has read see all that was done before Latest was called, by anybody. A Sync alone does not: what it promises
// ends with its session, which may expire between the Sync and the read, and the store asks again in the next one by
// itself. read may therefore be called several times; the last call counts.
func Latest(store Store, s *host.Scope, read func() error) error {
	l := latest{store: store}
	return l.read(s, read)
}

// latest is any number of reads after one point in time. The zero session is none that was synced.
type latest struct {
	store  Store
	synced SessionID
}

// read makes one of them. If the session is the same before the Sync and after the read, all was answered in it: session
// ids do not come back.
func (l *latest) read(s *host.Scope, read func() error) error {
	for range latestTriesMax {
		if session := l.store.Session(); session == 0 || session != l.synced {
			if err := l.store.Sync(s); err != nil {
				return err
			}
			if l.store.Session() != session {
				continue
			}
			l.synced = session
		}
		err := read()
		if l.store.Session() == l.synced {
			return err
		}
	}
	return fmt.Errorf("the session ended %d times: %w", latestTriesMax, ErrUnavailable)
}

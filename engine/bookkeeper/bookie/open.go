package bookie

import (
	"errors"
	"fmt"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/lastmark"
	"lakebed/engine/bookkeeper/bookie/ledgertable"
	"lakebed/engine/bookkeeper/bookie/writecache"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/record"
)

// Open brings a bookie up: locks and checks its directories, replays the journal, makes what it found durable in the
// entry log, and starts its tasks below g. Errors: host.ErrLocked, ErrCookie, ErrCorrupt for damage that would make
// answers wrong, anything else for what could not be read or written.
func Open(h host.Host, g host.Group, config Config) (*Store, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("bookie configuration: %w", err)
	}
	s := &Store{h: h, config: config, mutex: h.NewMutex("bookie"), fences: make(map[ledger.ID]*host.Ticket), deletes: make(map[ledger.ID]*host.Ticket)}
	s.tasks = g.New("bookie")
	s.due, s.room, s.idle = s.tasks.NewCond(s.mutex), s.tasks.NewCond(s.mutex), s.tasks.NewCond(s.mutex)
	s.active = writecache.NewGeneration(h, config.ChunkBytes)
	if err := s.boot(g); err != nil {
		if s.journal != nil {
			s.journal.Abandon(s.marking)
		}
		s.release()
		if isDamage(err) {
			err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		return nil, fmt.Errorf("open bookie %s: %w", config.BookieID, err)
	}
	s.lastMade = h.Elapsed()
	s.tasks.Go("checkpoint", s.checkpoints)
	s.startScrubber(g)
	h.Probe().Mark(host.Event{Name: PointServing})
	return s, nil
}

func (s *Store) boot(g host.Group) error {
	if err := s.takeDirectories(); err != nil {
		return err
	}
	if err := s.settleNames(); err != nil {
		return err
	}
	if err := s.checkCookies(); err != nil {
		return err
	}
	var err error
	if s.mark, err = lastmark.Open(s.h, s.ledgerDir); err != nil {
		return err
	}
	mark := s.mark.Last()
	var loaded ledgertable.Loaded
	if s.file, loaded, err = ledgertable.Load(s.h, s.ledgerDir, mark.Table); err != nil {
		return err
	}
	s.table = loaded.Table
	if s.logs, err = entrylog.Open(s.h, s.ledgerDir, s.config.EntryLog, loaded.Logs, s.kept); err != nil {
		return err
	}
	if s.journal, err = journal.Open(s.h, s.journalDir, s.config.Journal); err != nil {
		return err
	}
	found, err := s.journal.Replay(mark.Journal, s.replay)
	if err != nil {
		return err
	}
	replayed := host.Event{Name: PointReplayed, A: int64(found.Last)}
	if found.Clean {
		replayed.Extra = CleanStop
	}
	s.h.Probe().Mark(replayed)
	if found.Undecided {
		s.table.Limbo()
		s.h.Probe().Mark(host.Event{Name: PointLimbo})
	}
	s.journal.OnFailure(s.fail)
	if err := s.journal.Start(g, found.Last, mark.Journal.Sequence); err != nil {
		return err
	}
	if err := s.checkpoint(); err != nil {
		return err
	}
	s.logs.RemoveOrphans()
	return nil
}

// settleNames makes the names durable that an earlier process may have left visible but not durable. Otherwise a crash
// could keep a name that is made from now on and take back an older one: a gap that looks like a lost file.
func (s *Store) settleNames() error {
	for _, dir := range []host.Dir{s.journalDir, s.ledgerDir} {
		if err := dir.SyncDir(); err != nil {
			return fmt.Errorf("sync directory: %w", err)
		}
	}
	return nil
}

func (s *Store) takeDirectories() error {
	var err error
	if s.journalDir, err = s.lockVolume(JournalVolume); err != nil {
		return err
	}
	s.ledgerDir, err = s.lockVolume(LedgerVolume)
	return err
}

func (s *Store) lockVolume(volume string) (host.Dir, error) {
	dir, err := s.h.Disk(volume)
	if err != nil {
		return nil, fmt.Errorf("open the %s directory: %w", volume, err)
	}
	unlock, err := dir.Lock()
	if err != nil {
		return nil, fmt.Errorf("lock the %s directory: %w", volume, err)
	}
	s.unlock = append(s.unlock, unlock)
	return dir, nil
}

// replay takes one journal record into memory. Records come in the order in which they were accepted, so the same
// rules give the same state. Nothing is refused here: what was written had been accepted.
func (s *Store) replay(kind record.Kind, body []byte) error {
	r, err := decodeRecord(kind, body)
	if err != nil {
		return err
	}
	l := s.table.Get(r.ledger)
	if l == nil {
		l = s.createLedger(r.ledger)
	}
	switch kind {
	case kindEntry:
		if l.Deleted {
			return nil
		}
		if err := s.replayRoom(); err != nil {
			return err
		}
		s.active.Insert(r.ledger, r.entry, r.body)
	case kindLedger:
		l.HasKey, l.MasterKey = true, r.key
	case kindFence:
		l.Fenced = true
	case kindDelete:
		l.Deleted = true
		s.active.Drop(r.ledger)
		s.logs.Drop(r.ledger)
	}
	s.table.Changed(l)
	return nil
}

// replayRoom flushes when the cache is full. The table does not name what was flushed until replay is complete: a
// crash before that removes it again.
func (s *Store) replayRoom() error {
	early := s.active.Entries() > 0 && s.h.Probe().Perhaps(PointReplayFlushNow)
	if s.active.Bytes() < s.generationBytes() && !early {
		return nil
	}
	s.h.Probe().Mark(host.Event{Name: PointReplayFlush, A: s.active.Bytes()})
	s.swap()
	return s.flush()
}

// generationBytes is the size at which a generation counts as full.
func (s *Store) generationBytes() int64 { return s.config.WriteCacheBytesMax / 2 }

// createLedger adds a ledger that the bookie has not heard of. While ledgers may have been lost, this may be one.
func (s *Store) createLedger(id ledger.ID) *ledgertable.Ledger {
	l := s.table.Create(id)
	l.Limbo = s.table.Uncertain()
	return l
}

// IsRefusal reports whether an error of Open means that the directories themselves are wrong or damaged, so that
// trying again cannot help.
func IsRefusal(err error) bool { return errors.Is(err, ErrCookie) || errors.Is(err, ErrCorrupt) }

package lakebed

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// Store is a client of one cluster. It shares its connections among everything that is opened through it: a process wants one.
type Store struct {
	h        *oshost.Host
	metadata *service.Client
	client   *client.Client
	ledgers  *metadata.Ledgers
	timeout  time.Duration // for one answer of the metadata store
	calls    chan struct{} // a slot for each call under way
	waits    chan struct{} // the same for those that wait for a writer

	mutex    sync.Mutex
	closed   bool
	closing  chan struct{} // closed with closed
	underWay sync.WaitGroup
	over     chan struct{} // closed when Close has ended
	problem  error         // what Close returns
}

// Open connects to a cluster. It returns when the metadata store has answered, or ErrUnavailable: at once if every address
// refuses (see Config.AwaitMetadata), or after Config.MetadataTimeout. It asks no bookie. A cluster that no bookie has joined yet is
// no error: see AwaitBookies. The owner calls Close.
func Open(ctx context.Context, config Config) (*Store, error) {
	doing := "open the store at " + strings.Join(config.Metadata, ", ")
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: %w", doing, ended(ctx))
	}
	h, err := oshost.New(oshost.Config{Logger: config.Logger})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	engine := config.engine()
	s := &Store{
		h: h, timeout: engine.MetadataTimeout,
		calls:   make(chan struct{}, orDefault(config.CallsMax, callsMax)),
		waits:   make(chan struct{}, orDefault(config.WaitsMax, waitsMax)),
		closing: make(chan struct{}), over: make(chan struct{}),
	}
	connect := service.DefaultClientConfig(config.Metadata...)
	connect.GiveUpRefused = !config.AwaitMetadata
	if s.metadata, err = service.Connect(h, h.Root(), connect); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", doing, ErrInvalid, err)
	}
	if s.client, err = client.New(h, h.Root(), s.metadata, engine); err != nil {
		_ = s.metadata.Close()
		return nil, fmt.Errorf("%s: %w: %w", doing, ErrInvalid, err)
	}
	engine.Ledgers.Name = "store" // the client's own is another user of the host's random streams
	s.ledgers = metadata.NewLedgers(h, h.Root(), s.metadata, engine.Ledgers)
	scope, release := s.scope(ctx)
	defer release()
	if _, err := metadata.InstanceID(s.metadata, s.ledgers.Layout(), scope); err != nil && !errors.Is(err, metadata.ErrNotInitialized) {
		err = s.storeError(ctx, doing, err)
		s.metadata.Abandon() // there is nothing in the session that its server should hear of, and it may not listen
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close ends everything that was opened through the store, and returns when nothing of it is left. Writers are abandoned:
// their ledgers stay open, and appends under way fail with ErrOutcomeUnknown. It may be called again, and waits for nobody's
// outcome: its bound is the 2 s in which the metadata store may end the session.
func (s *Store) Close() error {
	s.mutex.Lock()
	first := !s.closed
	if first {
		s.closed = true
		close(s.closing)
	}
	s.mutex.Unlock()
	if first {
		s.client.Close()
		_ = s.metadata.Close() // it never fails
		s.underWay.Wait()
		s.h.Root().Stop()
		if err := s.h.Close(); err != nil {
			s.problem = fmt.Errorf("close the store: %w", err)
		}
		close(s.over)
	}
	<-s.over
	return s.problem
}

// begin counts a call that Close waits for. False: the store is closed.
func (s *Store) begin() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.closed {
		s.underWay.Add(1)
	}
	return !s.closed
}

func (s *Store) isClosed() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.closed
}

// scope bounds one question to the metadata store.
func (s *Store) scope(ctx context.Context) (*host.Scope, func()) {
	scope, release := s.h.FromContext(ctx)
	if limit := s.h.Elapsed() + s.timeout; scope.Deadline == 0 || scope.Deadline > limit {
		scope.Deadline = limit
	}
	return scope, release
}

// Create makes a ledger and returns its writer, the only one it will ever have. ErrNotEnoughBookies comes at once. With
// ErrOutcomeUnknown an empty ledger may have been left behind that nobody knows of.
func (s *Store) Create(ctx context.Context, o LedgerOptions) (*Writer, error) {
	options := o.engine()
	w, err := do(ctx, s, job[*client.Writer]{
		slots: s.calls, doing: func() string { return "create a ledger" }, changes: true,
		run: func() (*client.Writer, error) { return s.client.Create(options) },
		discard: func(w *client.Writer) {
			w.Abandon()
			_ = s.client.Delete(w.ID()) // nobody knows of it: this spares bookies and metadata an empty ledger, if it can
		},
	})
	if err != nil {
		return nil, err
	}
	return newWriter(s, w), nil
}

// Open opens a ledger whose end is final: one that is not closed is recovered first, which puts its writer out (ErrFenced).
// All that was ever acknowledged is in it. ErrUnavailable: not enough bookies answered to say where it ends; open it again
// later. When the context ends, a recovery that has begun goes on to its end by itself.
func (s *Store) Open(ctx context.Context, id LedgerID, o OpenOptions) (*Reader, error) {
	options := o.engine()
	return s.reader(ctx, id, func() (*client.Reader, error) { return s.client.Open(id, options) })
}

// OpenNoRecovery opens a ledger as it is, to read behind its writer. Reader.WaitFor and Reader.Tail bring what is written
// later.
func (s *Store) OpenNoRecovery(ctx context.Context, id LedgerID, o OpenOptions) (*Reader, error) {
	options := o.engine()
	return s.reader(ctx, id, func() (*client.Reader, error) { return s.client.OpenNoRecovery(id, options) })
}

func (s *Store) reader(ctx context.Context, id LedgerID, open func() (*client.Reader, error)) (*Reader, error) {
	r, err := do(ctx, s, job[*client.Reader]{
		slots: s.calls, doing: func() string { return fmt.Sprintf("open ledger %d", id) },
		run: open, discard: func(r *client.Reader) { r.Close() },
	})
	if err != nil {
		return nil, err
	}
	return &Reader{store: s, engine: r}, nil
}

// Recover closes a ledger that may still be written to, as Open does, and returns what it is then. A ledger that is closed
// already stays as it is.
func (s *Store) Recover(ctx context.Context, id LedgerID, o OpenOptions) (LedgerInfo, error) {
	r, err := s.Open(ctx, id, o)
	if err != nil {
		return LedgerInfo{}, err
	}
	defer r.Close()
	return r.Info(), nil
}

// Delete deletes a ledger, in whatever state it is. ErrNoSuchLedger if there is none, ErrOutcomeUnknown if it may be there
// or not: then Delete may be called again. Its writer, if there is one, fails when it next writes metadata; delete closed
// ledgers.
func (s *Store) Delete(ctx context.Context, id LedgerID) error {
	_, err := do(ctx, s, job[struct{}]{
		slots: s.calls, doing: func() string { return fmt.Sprintf("delete ledger %d", id) }, changes: true,
		run: func() (struct{}, error) { return struct{}{}, s.client.Delete(id) },
	})
	return err
}

// Stat returns what the metadata store knows of a ledger, no older than the call. It needs no password.
func (s *Store) Stat(ctx context.Context, id LedgerID) (LedgerInfo, error) {
	doing := fmt.Sprintf("read about ledger %d", id)
	if id < 0 {
		return LedgerInfo{}, fmt.Errorf("%s: %w", doing, ErrInvalid)
	}
	if err := s.enter(ctx, s.calls); err != nil {
		return LedgerInfo{}, fmt.Errorf("%s: %w", doing, err)
	}
	defer s.leave(s.calls)
	scope, release := s.scope(ctx)
	defer release()
	stored, err := s.ledgers.ReadLatest(id, scope)
	if err != nil {
		return LedgerInfo{}, s.storeError(ctx, doing, err)
	}
	return infoOf(id, &stored.Metadata), nil
}

// Ledgers walks the ids of all ledgers, ascending. Ledgers that come or go meanwhile may be among them or not; all others
// are. An error ends the walk. While the metadata store is dead it waits until the context ends.
func (s *Store) Ledgers(ctx context.Context) iter.Seq2[LedgerID, error] {
	const doing = "list ledgers"
	return func(yield func(LedgerID, error) bool) {
		// It holds no slot, and Close does not wait for it: the loop that ranges over it may make calls, and close the store.
		if s.isClosed() {
			yield(0, fmt.Errorf("%s: %w", doing, ErrStoreClosed))
			return
		}
		scope, release := s.h.FromContext(ctx)
		defer release()
		err := s.ledgers.Walk(scope, func(id ledger.ID) error {
			if ctx.Err() != nil {
				return host.ErrStopping
			}
			if !yield(id, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(0, s.storeError(ctx, doing, err))
		}
	}
}

// errEnough: whoever ranges over the ledgers has left the loop.
var errEnough = errors.New("enough ledgers were seen")

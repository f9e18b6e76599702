package node

import (
	"errors"
	"fmt"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/server"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

// Points of a bookie's process. Extra is the bookie.
const (
	PointStoreAwaited  host.Point = "node.store-awaited"   // the metadata store answered after A attempts that failed
	PointCookieMade    host.Point = "node.cookie-made"     // of a new bookie
	PointCookieResumed host.Point = "node.cookie-resumed"  // the directories were stamped, and the store had no cookie
	PointCookieRefused host.Point = "node.cookie-refused"  // the directories are not the bookie's
	PointBetween       host.Point = "node.between-cookies" // the directories are stamped, the store's cookie is not made
	PointServing       host.Point = "node.serving"         // not registered yet
	PointDiskFull      host.Point = "node.disk-full"       // A percent are used: it becomes read-only
	PointDiskRoom      host.Point = "node.disk-room"       // A percent are used: it becomes writable
	PointEnded         host.Point = "node.ended"           // in good order

	PointDoubtSettled host.Point = "node.doubt-settled" // A ledgers are in limbo, after B attempts that failed
	PointDoubtStays   host.Point = "node.doubt-stays"   // there are more ledgers than LimboLedgersMax
)

// node is one run of a bookie.
type node struct {
	h      host.Host
	g      host.Group // of tasks that end before the storage closes
	doubts host.Group // of the task that settles doubt, which waits for the storage and ends behind it
	config Config
	id     ledger.BookieID

	cluster string // whose bookie it is: the identity that the metadata store had at the start

	metadata metadata.Store
	cookies  *metadata.Cookies
	ledgers  *metadata.Ledgers // nil unless the storage is in doubt

	store        *bookie.Store
	server       *server.Server
	registration *metadata.Registration
}

// Run is a bookie's life: it returns nil after the host's root group was stopped, or the error that ended it.
// bookie.IsRefusal tells errors that another start cannot help against.
func Run(h host.Host, store metadata.Store, config Config) error {
	if err := config.Validate(); err != nil {
		return fmt.Errorf("bookie configuration: %w", err)
	}
	n := &node{
		h: h, g: h.Root().New("bookie-node"), doubts: h.Root().New("bookie-doubt"), config: config, id: ledger.BookieID(config.Store.BookieID), metadata: store,
		cookies: metadata.NewCookies(h, h.Root(), store, config.Registration.Layout, config.Retry),
	}
	err := n.start()
	if err == nil {
		err = n.store.AwaitEnd(h.Root())
	}
	if closed := n.close(); err == nil {
		err = closed
	}
	if errors.Is(err, host.ErrStopping) && h.Root().Stopping() {
		err = nil // asked to stop before it served
	}
	if err != nil {
		return fmt.Errorf("bookie %s: %w", n.id, err)
	}
	h.Probe().Mark(host.Event{Name: PointEnded, Extra: string(n.id)})
	return nil
}

// start brings everything up, in the order that the package comment gives reasons for.
func (n *node) start() error {
	identity, err := n.settleIdentity()
	if err != nil {
		return err
	}
	n.config.Store.TakesNewInDoubt = false // settleDoubt knows what is new
	if n.store, err = bookie.Open(n.h, n.h.Root(), n.config.Store); errors.Is(err, bookie.ErrCookie) {
		return n.refused("%w", err)
	} else if err != nil {
		return err
	}
	if !identity.made {
		if err := n.makeCookie(identity.resumed); err != nil {
			return err
		}
	}
	listen := n.config.Listen
	if listen == "" {
		listen = string(n.id)
	}
	listener, err := n.h.Net().Listen(listen)
	if err != nil {
		return err // it names the address
	}
	n.server = server.Serve(n.h, n.h.Root(), n.store, listener, n.config.Server)
	n.h.Probe().Mark(host.Event{Name: PointServing, Extra: string(n.id)})
	registration := n.config.registration()
	registration.InstanceID = n.cluster
	registration.Mode = n.mode(metadata.Writable)
	n.server.SetReadOnly(registration.Mode == metadata.ReadOnly)
	n.registration = metadata.Register(n.h, n.h.Root(), n.metadata, registration)
	n.g.Go("disk-usage", func() { n.watchDisks(registration.Mode) })
	if n.store.InDoubt() {
		n.ledgers = n.newLedgers()
		n.doubts.Go("settle-doubt", n.settleDoubt)
	}
	return nil
}

// registration fills in what the bookie says of itself.
func (c Config) registration() metadata.RegistrationConfig {
	r := c.Registration
	r.Bookie = ledger.BookieID(c.Store.BookieID)
	r.Info, _ = metadata.LegacyInfo(r.Bookie) // an id that is no address says nothing of endpoints
	return r
}

// close ends what was started: clients are told first, and the storage goes last.
func (n *node) close() error {
	n.g.Stop()
	n.doubts.Stop()
	n.g.Wait()
	defer n.doubts.Wait()
	if n.registration != nil {
		n.registration.Close(host.Within(n.h, nil, n.config.CloseTimeout))
	}
	if n.server != nil {
		n.server.Close()
	}
	if n.store == nil {
		return nil
	}
	return n.store.Close()
}

// awaited makes a request to the metadata store until it is answered, whatever the answer, or until the root group stops.
func (n *node) awaited(what string, request func(s *host.Scope) error) error {
	root, pause := n.h.Root(), n.config.Retry.PauseMin
	for failures := int64(0); ; failures++ {
		err := request(host.Within(n.h, root, n.config.StartTimeout))
		switch {
		case root.Stopping():
			return fmt.Errorf("%s: %w", what, host.ErrStopping)
		case !unanswered(err):
			if failures > 0 {
				n.h.Probe().Mark(host.Event{Name: PointStoreAwaited, A: failures, Extra: string(n.id)})
			}
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			return nil
		case failures == 0:
			n.h.Log(host.Warn, "bookie waits for the metadata store", host.F("bookie", n.id), host.F("to", what), host.F("error", err))
		}
		root.Sleep(pause)
		pause = min(2*pause, n.config.Retry.PauseMax)
	}
}

// unanswered reports whether asking again may help.
func unanswered(err error) bool {
	for _, class := range []error{metadata.ErrUnavailable, metadata.ErrOutcomeUnknown, metadata.ErrSessionExpired, metadata.ErrLimit} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

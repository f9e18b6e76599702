package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/trial/bench/processes/settings"
)

// BookieOptions say which bookie to run.
type BookieOptions struct {
	Data     string   // the directory of its directories; made if it is missing
	Address  string   // under which clients know it
	Listen   string   // empty: the address
	Metadata []string // addresses of the metadata store, tried in turn
	// Initialize lets a bookie with blank directories found the cluster where the store holds none.
	Initialize bool
	Settings   settings.Config
	Logger     *slog.Logger
	Serving    func(Announcement) // called once, from one of the bookie's tasks; must not wait for the bookie
}

// Config is the node's configuration that the options stand for.
func (o *BookieOptions) Config() node.Config {
	c := o.Settings.Node
	c.Store.BookieID = o.Address
	c.Listen = o.Listen
	c.Initialize = o.Initialize
	return c
}

// Validate reports what cannot work before anything is touched.
func (o *BookieOptions) Validate() error {
	if o.Data == "" {
		return errors.New("a bookie needs a data directory")
	}
	client := o.client()
	if err := client.Validate(); err != nil {
		return err
	}
	if o.Settings.StopMax <= 0 {
		return fmt.Errorf("a stop that may take %v: must be positive", o.Settings.StopMax)
	}
	return o.Config().Validate()
}

func (o *BookieOptions) client() service.ClientConfig {
	c := service.DefaultClientConfig(o.Metadata...)
	c.SessionTimeout = o.Settings.SessionTimeout
	return c
}

// RunBookie is a bookie's life. It returns nil after the context has ended, or what ended it. After ErrStopOverdue the
// process must end: tasks of the bookie are left.
func RunBookie(ctx context.Context, o BookieOptions) error {
	if err := o.Validate(); err != nil {
		return fmt.Errorf("bookie %s: %w", o.Address, err)
	}
	volumes := map[string]string{
		bookie.JournalVolume: filepath.Join(o.Data, bookie.JournalVolume),
		bookie.LedgerVolume:  filepath.Join(o.Data, bookie.LedgerVolume),
	}
	return runBounded(ctx, oshost.Config{Volumes: volumes, Logger: o.Logger}, o.Settings.StopMax, func(h host.Host) error {
		heard := &hearing{Host: h}
		heard.probe = probe{Probe: h.Probe(), address: o.Address, serving: o.Serving, lock: h.NewMutex("announcement")}
		store, err := service.Connect(heard, heard.Root(), o.client())
		if err != nil {
			return err
		}
		return errors.Join(node.Run(heard, store, o.Config()), store.Close())
	})
}

// hearing is a host whose probe is listened to, for how the bookie came up.
type hearing struct {
	host.Host
	probe probe
}

// Probe is the host's own, and hears what is said until the bookie has been announced.
func (h *hearing) Probe() host.Probe { return &h.probe }

// probe collects what an announcement says.
type probe struct {
	host.Probe
	address string
	serving func(Announcement)

	lock     host.Mutex
	told     bool
	isNew    bool
	clean    bool
	replayed int64
}

// Mark listens, and passes everything on.
func (p *probe) Mark(e host.Event) {
	switch e.Name {
	case node.PointCookieMade, node.PointCookieResumed:
		p.lock.Lock()
		p.isNew = true
		p.lock.Unlock()
	case bookie.PointReplayed:
		p.lock.Lock()
		p.clean = e.Extra == bookie.CleanStop
		p.lock.Unlock()
	case journal.PointReplayedGroup:
		p.lock.Lock()
		p.replayed++
		p.lock.Unlock()
	case metadata.PointRegistered, metadata.PointRegisteredLate:
		p.announce()
	}
	p.Probe.Mark(e)
}

// announce tells of the first registration. Later ones follow a lost session or a change of mode.
func (p *probe) announce() {
	p.lock.Lock()
	a := Announcement{Role: Bookie, Address: p.address, Start: Restarted}
	told := p.told
	p.told = true
	switch {
	case p.isNew:
		a.Start = New
	case !p.clean:
		a.Start, a.Groups = Recovered, p.replayed
	}
	p.lock.Unlock()
	if !told && p.serving != nil {
		p.serving(a)
	}
}

package bench

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// subject is an open journal or bookie.
type subject interface {
	// workers makes an arm's clients.
	workers(arm Arm, source *source) ([]worker, error)
	// forget removes what the clients of the last arm stored, off the clock.
	forget() error
	observer() *observer
	close() error
}

// storedBytes is the length of the stored entry that carries a payload.
func storedBytes(payload int) int { return ledger.HeaderBytes + payload }

// node is what a subject stands on: a real host with its own directories.
type node struct {
	*observer
	machine *oshost.Host
}

// newNode makes a host whose volumes lie below dir.
func newNode(dir string, seed uint64, volumes ...string) (node, error) {
	config := oshost.Config{
		Volumes: make(map[string]string), Seed: seed,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	for _, v := range volumes {
		config.Volumes[v] = filepath.Join(dir, v)
	}
	machine, err := oshost.New(config)
	if err != nil {
		return node{}, fmt.Errorf("make a host in %s: %w", dir, err)
	}
	return node{observer: &observer{Host: machine}, machine: machine}, nil
}

// end stops the node's root group and reports tasks that are left.
func (n node) end(err error) error {
	n.Root().Stop()
	return errors.Join(err, n.machine.Close())
}

// openSubject opens a subject below dir.
func openSubject(kind Subject, dir string, seed uint64) (subject, error) {
	var s subject
	var err error
	if kind == Journal {
		s, err = openJournal(filepath.Join(dir, string(kind)), seed)
	} else {
		s, err = openBookie(filepath.Join(dir, string(kind)), seed)
	}
	if err != nil {
		return nil, fmt.Errorf("open the %s to measure: %w", kind, err)
	}
	return s, nil
}

// ownQueue is the queue on which a client's batches come back.
func ownQueue[T any](h host.Host) *host.Queue[T] {
	return host.NewQueue[T](h, h.Root(), "bench-done", 1)
}

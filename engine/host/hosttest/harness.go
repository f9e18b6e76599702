package hosttest

import (
	"errors"
	"testing"

	"lakebed/engine/host"
)

// Volume is the volume that every node of a harness has, empty at first.
const Volume = "journal"

// Boot is what a node runs.
type Boot func(h host.Host) error

// Talk is a Boot of a node that talks to another. The server listens on address, and the client dials it.
type Talk func(h host.Host, address string) error

// Fault is one failure of the next matching call on a file of the running node's volume. It strikes once.
type Fault uint8

// The faults that contracts ask for.
const (
	ReadFails  Fault = iota // host.ErrIO
	WriteFails              // host.ErrIO
	SyncFails               // host.ErrIO
	NoSpace                 // a write ends with host.ErrNoSpace
	ShortRead               // some but not all bytes, and no error
	ShortWrite
)

// Harness makes worlds. Each call of a function begins with a fresh one.
type Harness struct {
	// Lives boots one node once for each boot, on the same disks and after a clean end of the one before. It returns
	// the first error, also one of the world's own, such as tasks that a boot left over.
	Lives func(lives ...Boot) error
	// Meet boots a server and a client on two nodes, with an address at which the server can be reached. When the
	// client has returned, it stops the server's root group. It returns the errors of both.
	Meet func(server, client Talk) error
	// Break is Lives with one boot that can arm faults. Nil: this world cannot break its disks.
	Break func(boot func(h host.Host, arm func(Fault)) error) error
}

// Contract is one promise of the seam.
type Contract struct {
	Name  string
	check func(Harness) error
}

// ErrCannotBreak is the answer of a contract about faults in a world that has none.
var ErrCannotBreak = errors.New("this world cannot break its disks")

// Check runs the contract. Nil: it holds.
func (c Contract) Check(h Harness) error { return c.check(h) }

func alone(name string, boot Boot) Contract {
	return Contract{name, func(h Harness) error { return h.Lives(boot) }}
}

func inLives(name string, lives ...Boot) Contract {
	return Contract{name, func(h Harness) error { return h.Lives(lives...) }}
}

func between(name string, server, client Talk) Contract {
	return Contract{name, func(h Harness) error { return h.Meet(server, client) }}
}

func broken(name string, boot func(h host.Host, arm func(Fault)) error) Contract {
	return Contract{name, func(h Harness) error {
		if h.Break == nil {
			return ErrCannotBreak
		}
		return h.Break(boot)
	}}
}

// Contracts is the whole list.
func Contracts() []Contract {
	var all []Contract
	for _, chapter := range [][]Contract{
		files(), transfers(), directories(), locks(), faults(),
		waits(), conditions(), gates(), groups(), values(),
		connections(), limits(), dialling(), sendings(), echoes(), vocabulary(),
	} {
		all = append(all, chapter...)
	}
	return all
}

// Run checks every contract as a subtest, each in a harness of its own.
func Run(t *testing.T, newHarness func(t *testing.T) Harness) {
	for _, contract := range Contracts() {
		t.Run(contract.Name, func(t *testing.T) {
			err := contract.Check(newHarness(t))
			if errors.Is(err, ErrCannotBreak) {
				t.Skip(err)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

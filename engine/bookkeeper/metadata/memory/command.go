package memory

import (
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/metadata"
)

// Index counts the commands that succeeded. The state after the n-th has index n.
type Index int64

// Op is what a command does.
type Op uint8

// The operations. The zero Op is none.
const (
	OpenSession Op = iota + 1
	EndSession
	Create
	Put
	Delete
)

func (o Op) String() string {
	switch o {
	case OpenSession:
		return "open session"
	case EndSession:
		return "end session"
	case Create:
		return "create"
	case Put:
		return "put"
	case Delete:
		return "delete"
	default:
		return fmt.Sprintf("operation %d", uint8(o))
	}
}

// Command is one change that is asked for. Fields that its operation does not need are zero.
type Command struct {
	Op       Op
	Session  metadata.SessionID // who asks; zero: nobody's session, which cannot own ephemeral keys
	Key      string
	Data     []byte // kept, and never changed
	Kind     metadata.Kind
	Expected metadata.Version
	Timeout  time.Duration // of a session
}

// Result is the outcome of a command.
type Result struct {
	Index   Index // of the state that the outcome was decided in: after the change, or the one that refused it
	Version metadata.Version
	Err     error
	Changes []Change // in the order of their keys. Valid until the next command
}

// Change is what became of one key. Before and After are nil where the key did not exist.
type Change struct {
	Index         Index
	Key           string
	Before, After *Node
}

// Node is one state of a key. It is never changed.
type Node struct {
	Data    []byte
	Version metadata.Version
	Owner   metadata.SessionID // zero: persistent
}

func (n *Node) bytes() int64 {
	if n == nil {
		return 0
	}
	return int64(len(n.Data))
}

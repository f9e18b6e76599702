package commitlog

import (
	"errors"

	"lakebed/engine/commitlog/message"
)

// The classes of failure that a caller may branch on. A full volume is host.ErrNoSpace.
var (
	// ErrIllegal says that a message cannot be stored as it is: too long, or a topic's name that is no name.
	ErrIllegal = message.ErrIllegal
	// ErrNoQueue says that there is no such topic, or that it has no such queue.
	ErrNoQueue = errors.New("no such queue")
	// ErrOutcomeUnknown says that a message may be stored or not.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrFailed says that a write or sync has failed and the store has stopped; it has to be started again.
	ErrFailed = errors.New("commit log has failed")
	// ErrStopped says that the store is closed or closing.
	ErrStopped = errors.New("commit log has stopped")
	// ErrCorrupt says that bytes which were durable are not what they were.
	ErrCorrupt = errors.New("commit log is damaged")

	// ErrNoIndex says that the store keeps no key index.
	ErrNoIndex = errors.New("the key index is switched off")

	errSync = errors.New("sync of the log failed") // never to be tried again
)

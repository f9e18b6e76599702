package service

import (
	"errors"
	"fmt"

	"lakebed/engine/bookkeeper/metadata"
)

// Operation is what a request asks for.
type Operation uint8

// The operations, with the numbers they have on the wire.
const (
	Hello Operation = iota + 1
	Ping
	Bye
	Get
	Sync
	Create
	Put
	Delete
	List
	Watch
	Unwatch
	Notice // responses only: a watch is told
)

func (o Operation) String() string {
	names := [...]string{
		"operation 0", "hello", "ping", "bye", "get", "sync", "create", "put", "delete", "list", "watch", "unwatch", "notice",
	}
	if int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("operation %d", uint8(o))
}

// Writes says whether the operation changes keys, so that a lost answer leaves the outcome open.
func (o Operation) Writes() bool { return o == Create || o == Put || o == Delete }

// Code is the outcome of a request.
type Code uint8

// The codes, with the numbers they have on the wire.
const (
	OK Code = iota
	Exist
	NotExist
	WrongVersion
	NotEmpty
	SessionExpired
	Invalid
	Limit
	Behind // the server's state is older than what the client has seen
	codes
)

// ErrBehind is how a client is told that it must ask another server, or wait.
var ErrBehind = errors.New("server is behind what was seen before")

// ErrMalformed says that a packet is none.
var ErrMalformed = errors.New("malformed metadata packet")

// Err returns the class of error that a code stands for.
func (c Code) Err() error {
	switch c {
	case OK:
		return nil
	case Exist:
		return metadata.ErrExist
	case NotExist:
		return metadata.ErrNotExist
	case WrongVersion:
		return metadata.ErrVersion
	case NotEmpty:
		return metadata.ErrNotEmpty
	case SessionExpired:
		return metadata.ErrSessionExpired
	case Limit:
		return metadata.ErrLimit
	case Behind:
		return ErrBehind
	default:
		return metadata.ErrInvalid
	}
}

// CodeOf is the code for an error of a tree.
func CodeOf(err error) Code {
	if err == nil {
		return OK
	}
	for c := Exist; c < codes; c++ {
		if errors.Is(err, c.Err()) {
			return c
		}
	}
	return Invalid
}

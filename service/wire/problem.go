package wire

import (
	"errors"
	"fmt"
	"strings"
)

// Class is a class of failure that a caller may branch on. It is an error by itself, for errors.Is.
type Class string

// The classes. Of all but OutcomeUnknown, Corrupt, Failed and Internal an append that got one has stored nothing.
const (
	Invalid         Class = "invalid"          // the request makes no sense to the store
	UnsupportedType Class = "unsupported-type" // of the body
	WrongService    Class = "wrong-service"    // the request names another service than the one that is served
	TooLarge        Class = "too-large"        // the body, or a message in it
	NotFound        Class = "not-found"        // no such topic, partition, queue or path
	NotAllowed      Class = "not-allowed"      // this path has no such method
	Exists          Class = "exists"           // the topic is there already
	Trimmed         Class = "trimmed"          // retention has removed what was asked for
	Beyond          Class = "beyond"           // behind the next message to come
	Unavailable     Class = "unavailable"      // its directory is out of service now
	Busy            Class = "busy"             // a bound on requests under way is reached
	Stopping        Class = "stopping"         // the server ends
	NoSpace         Class = "no-space"         // the disk is full
	OutcomeUnknown  Class = "outcome-unknown"  // it may have taken effect or not; nobody but the caller may decide to repeat it
	Corrupt         Class = "corrupt"          // what is stored is damaged
	Failed          Class = "failed"           // the store has stopped after a failure of its disk, and must be started again
	Internal        Class = "internal"         // none of the others
	Unreachable     Class = "unreachable"      // told by clients only: no connection was made, so nothing was sent
	Foreign         Class = "foreign"          // told by clients only: what answers is no store of this project
)

// classes holds what is to know of each class, in the order of the constants.
func classes() []struct {
	class  Class
	status int
	text   string
} {
	return []struct {
		class  Class
		status int
		text   string
	}{
		{Invalid, 400, "invalid request"},
		{UnsupportedType, 415, "content type is not supported"},
		{WrongService, 421, "another service is served here"},
		{TooLarge, 413, "too large"},
		{NotFound, 404, "not found"},
		{NotAllowed, 405, "method not allowed"},
		{Exists, 409, "exists already"},
		{Trimmed, 410, "removed by retention"},
		{Beyond, 416, "beyond the end"},
		{Unavailable, 503, "not available now"},
		{Busy, 503, "too many requests under way"},
		{Stopping, 503, "server is stopping"},
		{NoSpace, 507, "no space"},
		{OutcomeUnknown, 520, "outcome unknown"},
		{Corrupt, 500, "stored data is damaged"},
		{Failed, 500, "store has failed"},
		{Internal, 500, "internal error"},
		{Unreachable, 0, "server cannot be reached"},
		{Foreign, 0, "what answers is no Lakebed store"},
	}
}

// Classes lists the classes that a server may answer with.
func Classes() []Class {
	var all []Class
	for _, c := range classes() {
		if c.status != 0 {
			all = append(all, c.class)
		}
	}
	return all
}

// Error is the class in words.
func (c Class) Error() string {
	for _, known := range classes() {
		if known.class == c {
			return known.text
		}
	}
	return string(c)
}

// Status is the HTTP status of a class; that of Internal for one that is not known.
func (c Class) Status() int {
	for _, known := range classes() {
		if known.class == c && known.status != 0 {
			return known.status
		}
	}
	return Internal.Status()
}

// Problem is the document of a failure.
type Problem struct {
	Title  string `json:"title" doc:"The class in words"`
	Status int    `json:"status" doc:"The HTTP status"`
	Class  Class  `json:"class" doc:"What a program branches on"`
	Detail string `json:"detail" doc:"What has failed, and why"`
}

// NewProblem makes the document of an error of a class.
func NewProblem(class Class, err error) *Problem {
	return &Problem{Title: class.Error(), Status: class.Status(), Class: class, Detail: err.Error()}
}

// Error is the whole story, for readers.
func (p *Problem) Error() string { return fmt.Sprintf("%s (%d %s)", p.Detail, p.Status, p.Class) }

// Unwrap makes errors.Is find the class.
func (p *Problem) Unwrap() error { return p.Class }

// Meaning is the class of errors that are a sentinel of a store's. Brief: the class says all that the sentinel's words do, and they are
// cut off the end of the detail.
type Meaning struct {
	Sentinel error
	Class    Class
	Brief    bool
}

// Classified gives an error its class: that of the first meaning that fits, and Internal if none does. What has one keeps it.
func Classified(err error, meanings []Meaning) error {
	var p *Problem
	if err == nil || errors.As(err, &p) {
		return err
	}
	for _, m := range meanings {
		if !errors.Is(err, m.Sentinel) {
			continue
		}
		p := NewProblem(m.Class, err)
		if m.Brief {
			p.Detail = strings.TrimSuffix(p.Detail, ": "+m.Sentinel.Error())
		}
		return p
	}
	return NewProblem(Internal, err)
}

// ServiceHeader names the service of a server in each of its answers. A request that has it is refused with WrongService, before
// anything is done, by a server of another service.
const ServiceHeader = "Lakebed-Service"

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"

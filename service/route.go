package service

import (
	"lakebed/service/wire"
)

// Route is one operation of a service: what it takes, what it answers, and what does it.
type Route struct {
	Method  string
	Path    string // a pattern of http.ServeMux
	Name    string // for programs that are made from the document
	Summary string
	About   string

	Parameters []Parameter
	Bodies     []Body // the media types that a body may have; none: there is no body
	Status     int    // of success
	Answer     any    // a value of the type that is answered
	Errors     []wire.Class

	Handle func(*Request) (any, error)
}

// Place says where a parameter stands.
type Place string

// The places.
const (
	InPath  Place = "path"
	InQuery Place = "query"
)

// Parameter is one parameter of a route. Its bounds are what requests are checked by.
type Parameter struct {
	Name     string
	In       Place
	About    string
	Text     bool   // a string; else a whole number
	OneOf    string // of a string: the words that may stand, separated by spaces
	Min, Max int64  // of a number
	Standard int64  // the number if it is absent
	Needed   bool   // a number that must be there
	Optional bool   // there is no standard: it may be absent
	Repeated bool   // may be given several times; a string
	Example  string
}

// Body is one form of a request's body.
type Body struct {
	Type    string // media type
	About   string
	Example any // a value of the type that is decoded, for JSON; nil: any bytes
}

// parameter is the declaration of a parameter.
func (r *Route) parameter(name string, in Place) *Parameter {
	for i := range r.Parameters {
		if r.Parameters[i].Name == name && r.Parameters[i].In == in {
			return &r.Parameters[i]
		}
	}
	panic("route " + r.Name + " does not declare its parameter " + name) // a slip of ours, which no request can cause
}

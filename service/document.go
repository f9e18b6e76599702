package service

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"lakebed/service/wire"
)

// DocumentPath is where the OpenAPI document is served.
const DocumentPath = "/openapi.json"

// The parts of an OpenAPI 3.0 document that are used here.
type (
	openAPI struct {
		OpenAPI string `json:"openapi"`
		Info    struct {
			Title       string `json:"title"`
			Description string `json:"description"`
			Version     string `json:"version"`
		} `json:"info"`
		Paths      map[string]map[string]operation `json:"paths"` // by path and method
		Components struct {
			Schemas map[string]*schema `json:"schemas"`
		} `json:"components"`
	}
	operation struct {
		ID          string              `json:"operationId"`
		Summary     string              `json:"summary"`
		Description string              `json:"description,omitempty"`
		Parameters  []described         `json:"parameters,omitempty"`
		RequestBody *content            `json:"requestBody,omitempty"`
		Responses   map[string]*content `json:"responses"`
	}
	described struct {
		Name        string  `json:"name"`
		In          Place   `json:"in"`
		Required    bool    `json:"required"`
		Description string  `json:"description"`
		Schema      *schema `json:"schema"`
		Example     string  `json:"example,omitempty"`
	}
	content struct {
		Description string           `json:"description,omitempty"`
		Required    bool             `json:"required,omitempty"`
		Content     map[string]media `json:"content"`
	}
	media struct {
		Schema *schema `json:"schema"`
	}
)

// document describes routes.
func document(info Info, routes []Route) ([]byte, error) {
	d := openAPI{OpenAPI: "3.0.3", Paths: map[string]map[string]operation{}}
	d.Info.Title, d.Info.Description, d.Info.Version = info.Title, info.About, info.Version
	s := schemas{named: map[string]*schema{}, types: map[string]reflect.Type{}}
	for i := range routes {
		r := &routes[i]
		if d.Paths[r.Path] == nil {
			d.Paths[r.Path] = map[string]operation{}
		}
		d.Paths[r.Path][strings.ToLower(r.Method)] = describe(&s, r)
	}
	d.Paths[DocumentPath] = map[string]operation{"get": {
		ID: "openapi", Summary: "This document",
		Responses: map[string]*content{"200": {Description: "OpenAPI 3.0", Content: map[string]media{"application/json": {&schema{Type: "object"}}}}},
	}}
	if s.err != nil {
		return nil, s.err
	}
	d.Components.Schemas = s.named
	return json.MarshalIndent(d, "", " ")
}

func describe(s *schemas, r *Route) operation {
	o := operation{ID: r.Name, Summary: r.Summary, Description: r.About, Responses: map[string]*content{}}
	for _, p := range r.Parameters {
		o.Parameters = append(o.Parameters, described{
			Name: p.Name, In: p.In, Required: p.required(), Description: p.About, Schema: p.schema(), Example: p.Example,
		})
	}
	if len(r.Bodies) > 0 {
		o.RequestBody = &content{Required: true, Content: map[string]media{}}
		var abouts []string
		for _, b := range r.Bodies {
			o.RequestBody.Content[b.Type] = media{s.body(&b)}
			abouts = append(abouts, b.Type+": "+b.About)
		}
		o.RequestBody.Description = strings.Join(abouts, "\n\n")
	}
	o.Responses[strconv.Itoa(r.Status)] = &content{Description: "done", Content: map[string]media{"application/json": {s.of(reflect.TypeOf(r.Answer))}}}
	for status, classes := range byStatus(r) {
		o.Responses[status] = &content{
			Description: strings.Join(classes, ", "), Content: map[string]media{wire.ProblemType: {s.of(reflect.TypeFor[wire.Problem]())}},
		}
	}
	return o
}

// byStatus are the classes that a route may answer with: its own, and those that every route has.
func byStatus(r *Route) map[string][]string {
	all := append([]wire.Class{wire.Invalid, wire.WrongService, wire.Busy, wire.Stopping, wire.Internal}, r.Errors...)
	if len(r.Bodies) > 0 {
		all = append(all, wire.UnsupportedType, wire.TooLarge)
	}
	found := map[string][]string{}
	for _, class := range all {
		status := strconv.Itoa(class.Status())
		if text := string(class) + ": " + class.Error(); !slices.Contains(found[status], text) {
			found[status] = append(found[status], text)
		}
	}
	return found
}

func (p *Parameter) required() bool {
	return p.In == InPath || p.Needed || p.Text && !p.Optional && !p.Repeated
}

// schema is what requests are checked by.
func (p *Parameter) schema() *schema {
	if !p.Text {
		s := &schema{Type: "integer", Format: "int64", Minimum: &p.Min, Maximum: &p.Max}
		if !p.required() && !p.Optional {
			s.Default = &p.Standard
		}
		return s
	}
	s := &schema{Type: "string", Enum: strings.Fields(p.OneOf)}
	if p.Repeated {
		return &schema{Type: "array", Items: s}
	}
	return s
}

// schema is that part of a JSON schema that Go types need.
type schema struct {
	Ref         string             `json:"$ref,omitempty"`
	Type        string             `json:"type,omitempty"`
	Format      string             `json:"format,omitempty"`
	Description string             `json:"description,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Minimum     *int64             `json:"minimum,omitempty"`
	Maximum     *int64             `json:"maximum,omitempty"`
	Default     *int64             `json:"default,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Additional  any                `json:"additionalProperties,omitempty"` // false, or a schema
	OneOf       []*schema          `json:"oneOf,omitempty"`
	AllOf       []*schema          `json:"allOf,omitempty"`
}

// schemas collects the schemas of types that have a name.
type schemas struct {
	named map[string]*schema
	types map[string]reflect.Type
	err   error
}

func (s *schemas) body(b *Body) *schema {
	if b.Example == nil {
		return &schema{Type: "string", Format: "binary"}
	}
	return s.of(reflect.TypeOf(b.Example))
}

// of is the schema of what encoding/json makes of a type.
func (s *schemas) of(t reflect.Type) *schema {
	switch {
	case t == reflect.TypeFor[wire.Bytes]():
		encoded := &schema{Type: "object", Properties: map[string]*schema{"base64": {Type: "string", Format: "byte"}}, Required: []string{"base64"}, Additional: false}
		return &schema{OneOf: []*schema{{Type: "string"}, encoded}}
	case t == reflect.TypeFor[[]byte]():
		return &schema{Type: "string", Format: "byte"}
	case t == reflect.TypeFor[wire.Class]():
		all := &schema{Type: "string"}
		for _, class := range wire.Classes() {
			all.Enum = append(all.Enum, string(class))
		}
		return all
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.String:
		return &schema{Type: "string"}
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Float64:
		return &schema{Type: "number"}
	case reflect.Int, reflect.Int64, reflect.Int32:
		return &schema{Type: "integer", Format: "int64"}
	case reflect.Uint64, reflect.Uint32:
		return &schema{Type: "integer", Minimum: new(int64)}
	case reflect.Slice:
		return &schema{Type: "array", Items: s.of(t.Elem())}
	case reflect.Map:
		return &schema{Type: "object", Additional: s.of(t.Elem())}
	case reflect.Struct:
		return s.structure(t)
	}
	s.err = fmt.Errorf("type %v has no schema here", t)
	return &schema{}
}

// structure is a reference to the schema of a struct. Members without omitempty are required in answers; requests may leave out
// pointers and what is optional, which is all that omitempty says.
func (s *schemas) structure(t reflect.Type) *schema {
	reference := &schema{Ref: "#/components/schemas/" + t.Name()}
	if known, ok := s.types[t.Name()]; ok {
		if known != t {
			s.err = fmt.Errorf("two types are called %s: %v and %v", t.Name(), known, t)
		}
		return reference
	}
	made := &schema{Type: "object", Properties: map[string]*schema{}, Additional: false}
	s.named[t.Name()], s.types[t.Name()] = made, t
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			s.err = fmt.Errorf("member %s of %v has no name in JSON", f.Name, t)
		}
		of := s.of(f.Type)
		if about := f.Tag.Get("doc"); about != "" && of.Ref != "" {
			of = &schema{AllOf: []*schema{of}, Description: about}
		} else if about != "" {
			of.Description = about
		}
		made.Properties[name] = of
		if options != "omitempty" {
			made.Required = append(made.Required, name)
		}
	}
	return reference
}

// Package openapi holds the OpenAPI documents of both services to what the specification says, and the services to their
// documents: a library that is not ours validates the documents, and each request and answer of a client's whole life with a
// store against them.
//
// It is a module of its own because the library is no part of the services.
package openapi

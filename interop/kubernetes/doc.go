// Package kubernetes holds the example under deploy/kubernetes to what Kubernetes accepts, and to what simrun does: the files
// decode strictly into the official API types, what must be equal in them is equal, exit codes mean what the package campaign
// gives them for, and the scripts of both jobs run, with all their shards, in an ordinary shell.
//
// It is a module of its own because the API types are no part of the engine or its laboratory. There is no cluster here: what
// the API server would refuse beyond types is checked only where a test says so.
package kubernetes

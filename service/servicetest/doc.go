// Package servicetest is test support for servers of stores: one that runs on a host of the test's, is reached in every way there is, and
// whose disk fails when it is told to.
//
// It is imported by tests only, and takes its host from them.
package servicetest

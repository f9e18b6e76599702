//go:build race

package oshost_test

const raceEnabled = true

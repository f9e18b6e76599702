package commitlog_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage pile up: of worlds that live for milliseconds and hold little, a third of the processor time went into collecting it.
func TestMain(m *testing.M) {
	const percent = 400
	debug.SetGCPercent(percent)
	os.Exit(m.Run())
}

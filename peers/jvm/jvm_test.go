package jvm

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"lakebed/peers/stores"
)

// TestWhatIsMissingIsNamed: a machine without Java is told apart from a broker that fails, by name.
func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Start(t.Context(), stores.Kafka, t.TempDir(), true); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "java") {
		t.Errorf("%v", err)
	}
}

// TestFreePortsAreFreeAndInARow, so that each can be listened on at once.
func TestFreePortsAreFreeAndInARow(t *testing.T) {
	first, err := freePorts(5)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+i))
		if err != nil {
			t.Error(err)
			continue
		}
		defer l.Close()
		if !listens(first + i) {
			t.Errorf("port %d is listened on, and not seen", first+i)
		}
	}
}

// TestDurabilityIsInTheSettings: the one promise that the comparison stands on is written into the broker's own settings.
func TestDurabilityIsInTheSettings(t *testing.T) {
	if s := rocketProperties("/d", 1, true); !strings.Contains(s, "flushDiskType=SYNC_FLUSH\n") || strings.Contains(s, "ASYNC") {
		t.Error(s)
	}
	if s := rocketProperties("/d", 1, false); !strings.Contains(s, "flushDiskType=ASYNC_FLUSH\nflushIntervalCommitLog=3600000\nflushCommitLogThoroughInterval=3600000\n") {
		t.Error(s)
	}
}

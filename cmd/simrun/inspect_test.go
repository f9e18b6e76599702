package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/trial/campaign"
)

// writtenBookie makes a directory in which a bookie has stored a few entries and closed.
func writtenBookie(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	volumes := map[string]string{}
	for _, v := range []string{bookie.JournalVolume, bookie.LedgerVolume} {
		volumes[v] = filepath.Join(dir, v)
		if err := os.Mkdir(volumes[v], 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := bookie.DefaultConfig()
	config.Journal.FileBytes = 64 << 20
	err := oshost.Run(t.Context(), oshost.Config{Volumes: volumes}, func(h host.Host) error {
		s, err := bookie.Open(h, h.Root(), config)
		if err != nil {
			return err
		}
		body := make([]byte, 200)
		for e := range ledger.EntryID(50) {
			ledger.PutHeader(body, 7, e, e-1, 0)
			if err := s.AddOne(&bookie.Add{Body: body}); err != nil {
				return err
			}
		}
		return s.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func inspected(t *testing.T, arguments ...string) (string, int) {
	t.Helper()
	var out, problems strings.Builder
	a := &app{out: &out, err: &problems}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	code := a.run(ctx, append([]string{"inspect"}, arguments...))
	return out.String() + problems.String(), code
}

func TestInspectTellsGoodFromDamaged(t *testing.T) {
	dir := writtenBookie(t)
	if text, code := inspected(t, dir); code != campaign.ExitOK {
		t.Fatalf("a good bookie: exit code %d\n%s", code, text)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "ledger", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no entry log: %v", err)
	}
	text, code := inspected(t, logs[0], "--json")
	var report struct{ Logs []struct{ Records int } }
	if err := json.Unmarshal([]byte(text), &report); err != nil || code != campaign.ExitOK || len(report.Logs) != 1 {
		t.Fatalf("one entry log: exit code %d, %v\n%s", code, err, text)
	}
	f, err := os.OpenFile(logs[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0xff, 0xff}, 4096+500); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if text, code := inspected(t, dir); code != campaign.ExitBroken {
		t.Fatalf("a damaged bookie: exit code %d\n%s", code, text)
	}
}

func TestInspectOfNothingIsWrongUse(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	if text, code := inspected(t, missing); code != campaign.ExitUsage {
		t.Errorf("exit code %d: %s", code, text)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("inspecting a path made it")
	}
	if text, code := inspected(t, t.TempDir()); code != campaign.ExitUsage {
		t.Errorf("an empty directory: exit code %d: %s", code, text)
	}
	foreign := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(foreign, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, code := inspected(t, foreign); code != campaign.ExitUsage {
		t.Errorf("a foreign file: exit code %d: %s", code, text)
	}
	if text, code := inspected(t); code != campaign.ExitUsage {
		t.Errorf("without a path: exit code %d: %s", code, text)
	}
}

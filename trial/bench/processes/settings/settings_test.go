package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/trial/bench/processes/settings"
)

// TestAFileMeansWhatBookKeeperMeansByIt: names, units, comments, continued lines and escapes.
func TestAFileMeansWhatBookKeeperMeansByIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bookkeeper.conf")
	text := `# Settings of a bookie
! also a comment
journalSyncData=false
journalPageCacheFlushIntervalMSec : 250
journalMaxSizeMB 64
journalMaxGroupWaitMSec=2
dbStorage_writeCacheMaxSizeMb=\
    32
flushInterval=1500
diskUsageThreshold=0.8
diskUsageLwmThreshold=0.7
zkLedgersRootPath=/\u006cakes
forceReadOnlyBookie=true
flushInterval=2500
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c := settings.Default()
	if err := settings.Load(&c, path); err != nil {
		t.Fatal(err)
	}
	n := c.Node
	for what, holds := range map[string]bool{
		"sync mode": n.Store.Journal.Sync == journal.SyncInterval, "sync interval": n.Store.Journal.SyncInterval == 250*time.Millisecond,
		"group wait": n.Store.Journal.GroupWait == 2*time.Millisecond, "journal file": n.Store.Journal.FileBytes == 64<<20, "write cache": n.Store.WriteCacheBytesMax == 32<<20,
		"the last of two": n.Store.CheckpointInterval == 2500*time.Millisecond, "threshold": n.DiskUsageThreshold == 0.8,
		"low water": n.DiskUsageLowWaterMark == 0.7, "root": n.Registration.Layout.Root == "/lakes", "read-only": n.ReadOnly,
		"what is not set": n.Store.EntryLog == settings.Default().Node.Store.EntryLog,
	} {
		if !holds {
			t.Errorf("%s: %+v", what, c)
		}
	}
}

// TestEverySettingTakesItsDefault: what the table prints can be written into a file, and changes nothing.
func TestEverySettingTakesItsDefault(t *testing.T) {
	for _, s := range settings.All() {
		c := settings.Default()
		if err := settings.Set(&c, s.Name, s.Default); err != nil {
			t.Errorf("%s=%s: %v", s.Name, s.Default, err)
		}
		if !reflect.DeepEqual(c, settings.Default()) {
			t.Errorf("%s=%s changes the default: %+v", s.Name, s.Default, c)
		}
		if s.About == "" || s.Default == "" {
			t.Errorf("%s says nothing of itself", s.Name)
		}
	}
}

// TestWrongSettingsAreRefusedWithWhatToDo, all of a file's at once.
func TestWrongSettingsAreRefusedWithWhatToDo(t *testing.T) {
	for assignment, reason := range map[string]string{
		"flushIntervall=3":                   "did you mean flushInterval?",
		"xylophone=3":                        "simrun bookie --settings",
		"journalDirectory=/a":                "--data",
		"journalMaxGroupWaitMSec=-1":         "whole number",
		"journalAdaptiveGroupWrites=true":    "no meaning here",
		"zkServers=a:1":                      "--metadata",
		"readOnlyModeEnabled=true":           "diskUsageThreshold",
		"journalSyncData=yes":                "true or false",
		"journalMaxSizeMB=-1":                "whole number",
		"journalMaxSizeMB=9999999999999999":  "whole number",
		"flushInterval=1.5":                  "whole number",
		"diskUsageThreshold=NaN":             "above 0",
		"lakebed.journalSyncMode=sometimes":  "always, group",
		"nettyMaxFrameSizeBytes=100":         "above",
		"nettyMaxFrameSizeBytes=99999999999": "at most",
		"zkLedgersRootPath=ledgers":          "ledgers",
		"flushInterval":                      "name=value",
		"=3":                                 "name=value",
	} {
		c := settings.Default()
		if err := settings.Assign(&c, assignment); !errors.Is(err, settings.ErrSetting) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v, want %q", assignment, err, reason)
		}
	}
	c := settings.Default()
	err := settings.Parse(&c, []byte("flushIntervall=3\njournalSyncData=perhaps\n"))
	if err == nil || !strings.Contains(err.Error(), "flushIntervall") || !strings.Contains(err.Error(), "journalSyncData") {
		t.Errorf("two mistakes: %v", err)
	}
	if err := settings.Parse(&c, make([]byte, 2<<20)); !errors.Is(err, settings.ErrSetting) {
		t.Errorf("a file that is too long: %v", err)
	}
	if err := settings.Load(&c, "/dev/zero"); !errors.Is(err, settings.ErrSetting) {
		t.Errorf("a device without an end: %v", err)
	}
	if err := settings.Load(&c, filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestValuesAreNotExpanded: a value is what stands there, whatever this process's environment holds.
func TestValuesAreNotExpanded(t *testing.T) {
	t.Setenv("SECRET", "/ledgers")
	c := settings.Default()
	err := settings.Parse(&c, []byte("zkLedgersRootPath=${SECRET}"))
	if err == nil || !strings.Contains(err.Error(), "${SECRET}") {
		t.Errorf("%v, %q", err, c.Node.Registration.Layout.Root)
	}
}

// FuzzParse: no text of settings makes anything but an error or a configuration.
func FuzzParse(f *testing.F) {
	f.Add("journalSyncData=false\nflushInterval = 3\\\n00\n")
	f.Add("a=${a}\n#\n!\n\\u00zz")
	f.Fuzz(func(t *testing.T, text string) {
		c := settings.Default()
		if err := settings.Parse(&c, []byte(text)); err != nil && !errors.Is(err, settings.ErrSetting) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

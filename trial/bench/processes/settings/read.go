package settings

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/magiconair/properties"

	"lakebed/trial/campaign"
)

// ErrSetting is wrapped by everything that is wrong with a setting.
var ErrSetting = errors.New("wrong setting")

// fileBytesMax bounds a file of settings; bookkeeper.conf has some fifty thousand.
const fileBytesMax = 1 << 20

// elsewhere are names of bookkeeper.conf that are known and not settings here, with what to do instead.
func elsewhere() map[string]string {
	const always = "this bookie always does so"
	return map[string]string{
		"bookiePort":                       "the address is --address",
		"bookieId":                         "the bookie's id is its address, --address",
		"advertisedAddress":                "the address that clients use is --address; --listen may be another one",
		"listeningInterface":               "the address to listen on is --listen",
		"metadataServiceUri":               "the metadata store is --metadata",
		"zkServers":                        "the metadata store is --metadata",
		"journalDirectory":                 "the directories are below --data",
		"journalDirectories":               "there is one journal, below --data",
		"ledgerDirectories":                "there is one ledger directory, below --data",
		"indexDirectories":                 "indexes lie with the ledgers, below --data",
		"journalBufferedEntriesThreshold":  "a group is bounded by its bytes: journalBufferedWritesThreshold",
		"journalFlushWhenQueueEmpty":       always,
		"journalAdaptiveGroupWrites":       always,
		"journalWriteData":                 "there is no bookie without a journal",
		"journalMaxBackups":                "trimmed files are used again: lakebed.journalSpareFiles",
		"journalReuseFiles":                "say how many: lakebed.journalSpareFiles",
		"journalPreAllocSizeMB":            "files are filled with zeros, one ahead: journalMaxSizeMB",
		"journalAlignmentSize":             "groups are always aligned to pages",
		"journalRemoveFromPageCache":       "the page cache is left to the kernel",
		"readOnlyModeEnabled":              "a bookie with a full disk is always read-only and never stops; see diskUsageThreshold",
		"readOnlyModeOnAnyDiskFullEnabled": always,
		"diskUsageWarnThreshold":           "see diskUsageThreshold",
		"ledgerStorageClass":               "there is one storage",
		"dbStorage_maxThrottleTimeMs":      "adds wait as long as need be, and none is refused",
		"entryLogFilePreallocationEnabled": "a flush is written at once",
		"localScrubRateLimit":              "the scrubber's rate is in bytes: lakebed.localScrubBytesPerSecond",
		"gcWaitTime":                       "ledgers are not collected yet",
		"minorCompactionInterval":          "entry logs are not compacted yet",
		"majorCompactionInterval":          "entry logs are not compacted yet",
	}
}

// Set gives one setting a value.
func Set(c *Config, name, value string) error {
	all := All()
	at := slices.IndexFunc(all, func(s Setting) bool { return s.Name == name })
	if at < 0 {
		return unknown(all, name)
	}
	if err := all[at].set(c, strings.TrimSpace(value)); err != nil {
		return fmt.Errorf("%w: %s=%s: %w", ErrSetting, name, value, err)
	}
	return nil
}

// unknown says what to do about a name that is no setting.
func unknown(all []Setting, name string) error {
	if instead := elsewhere()[name]; instead != "" {
		return fmt.Errorf("%w: %s is a setting of bookkeeper.conf that has no meaning here: %s", ErrSetting, name, instead)
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	if near := campaign.Nearest(name, names); near != "" {
		return fmt.Errorf("%w: no setting is called %q; did you mean %s?", ErrSetting, name, near)
	}
	return fmt.Errorf("%w: no setting is called %q; simrun bookie --settings lists them", ErrSetting, name)
}

// Assign gives one setting a value that is written "name=value".
func Assign(c *Config, assignment string) error {
	name, value, found := strings.Cut(assignment, "=")
	if name = strings.TrimSpace(name); !found || name == "" {
		return fmt.Errorf("%w: %q: want name=value", ErrSetting, assignment)
	}
	return Set(c, name, value)
}

// Parse gives the settings of a file's text their values. The error holds everything that is wrong.
func Parse(c *Config, text []byte) error {
	if len(text) > fileBytesMax {
		return fmt.Errorf("%w: a file of more than the %d bytes that are allowed", ErrSetting, fileBytesMax)
	}
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	p, err := loader.LoadBytes(text)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSetting, err)
	}
	p.DisableExpansion = true
	var wrong []error
	for _, name := range p.Keys() {
		value, _ := p.Get(name)
		wrong = append(wrong, Set(c, name, value))
	}
	return errors.Join(wrong...)
}

// Load gives the settings of a file their values.
func Load(c *Config, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, fileBytesMax+1)) // a device has no size that could be asked for
	if err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	if err := Parse(c, text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

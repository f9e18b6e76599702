package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/inspect"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/trial/campaign"
)

func (a *app) inspectCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "inspect PATH",
		Short: "Read what the engine wrote, in words, and check that it is consistent",
		Long: `Read the files of a bookie without changing them, verify every checksum, and check one file against the other: the
mark against the journal, the ledger table against the entry logs, each index against the records it points to.

PATH is a bookie (a directory with the directories "journal" and "ledger" in it), one of these directories, or one file:
a journal file, an entry log, a ledger table, a mark, a cookie, or scrub.json, the list of what the bookie's scrubber found.

A bookie that is running goes on writing meanwhile, so its last group may look unfinished.

Exit code 1: something is damaged.`,
		Example: `  simrun inspect /var/lib/lakebed           # a bookie
  simrun inspect /var/lib/lakebed/ledger    # its ledger directory
  simrun inspect 00000003.log --json        # one entry log, for a program`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return fmt.Errorf("%w: inspect takes one path, not %d", campaign.ErrUsage, len(arguments))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, arguments []string) error {
			report, err := inspectPath(arguments[0])
			if err != nil {
				return err
			}
			if report.Worst() == inspect.Damage {
				a.code = campaign.ExitBroken
			}
			if asJSON {
				return a.printJSON(report)
			}
			return report.Text(a.out)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// inspectPath inspects whatever lies at a path.
func inspectPath(path string) (*inspect.Report, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", campaign.ErrUsage, err)
	}
	if !info.IsDir() {
		dir, err := openDirectory(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		report, err := inspect.File(dir, filepath.Base(path))
		if errors.Is(err, inspect.ErrForeign) {
			return nil, fmt.Errorf("%w: %w", campaign.ErrUsage, err)
		}
		return report, err
	}
	journal, ledger := filepath.Join(path, bookie.JournalVolume), filepath.Join(path, bookie.LedgerVolume)
	if !isDirectory(journal) && !isDirectory(ledger) {
		dir, err := openDirectory(path)
		if err != nil {
			return nil, err
		}
		report, err := inspect.Directory(filepath.Base(path), dir)
		if err == nil && report.Empty() {
			return nil, fmt.Errorf("%w: there is nothing of a bookie in %s", campaign.ErrUsage, path)
		}
		return report, err
	}
	journalDir, err := openDirectory(journal)
	if err != nil {
		return nil, err
	}
	ledgerDir, err := openDirectory(ledger)
	if err != nil {
		return nil, err
	}
	return inspect.Bookie(journalDir, ledgerDir)
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// openDirectory opens a directory that must be there.
func openDirectory(path string) (host.Dir, error) {
	if !isDirectory(path) {
		return nil, fmt.Errorf("%w: there is no directory %s", campaign.ErrUsage, path)
	}
	const volume = "inspected"
	h, err := oshost.New(oshost.Config{Volumes: map[string]string{volume: path}})
	if err != nil {
		return nil, err
	}
	return h.Disk(volume)
}

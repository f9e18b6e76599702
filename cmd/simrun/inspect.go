package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/inspect"
	messageinspect "lakebed/engine/commitlog/inspect"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/engine/inspection"
	segmentinspect "lakebed/engine/seglog/inspect"
	"lakebed/trial/campaign"
)

func (a *app) inspectCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "inspect PATH",
		Short: "Read what the engine wrote, in words, and check that it is consistent",
		Long: `Read the files of a bookie, a segment log or a commit log without changing them, verify every checksum, and check one file
against the other: the mark against the journal, the ledger table against the entry logs, each index against the records it
points to; cursors of segments against each other, and against their indexes and checkpoints; every message of a commit log against its unit in
its queue and its entries in the key index.

PATH is a data directory of a segment log (with "mstore" in it), or something in it, of which the whole partition is looked at, or
all of the directory; or the directory of a commit log (with "commitlog" in it), or something in it, and the whole is looked at; or a bookie (a directory with the directories "journal" and "ledger" in it), one of these directories, or one file:
a journal file, an entry log, a ledger table, a mark, a cookie, or scrub.json, the list of what the bookie's scrubber found.

Bytes of a segment log or a commit log that are no record are skipped where the log is durable: how many, and where the next whole record
lies, is told, and what is behind them is read. All problems are counted, and the first thousand of them listed.

A store that is running goes on writing meanwhile, so its last group may look unfinished.

Exit code 1: something is damaged.`,
		Example: `  simrun inspect /var/lib/lakebed           # a bookie
  simrun inspect /var/lib/lakebed/ledger    # its ledger directory
  simrun inspect /disk0                     # a data directory of a segment log
  simrun inspect /tmp/mq                    # a commit log
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
			if report.Broken() {
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

// finding is what was found at a path.
type finding interface {
	Broken() bool
	Text(io.Writer) error
}

// bookieInspection says of a bookie whether it is broken.
type bookieInspection struct{ *inspect.Report }

func (b bookieInspection) Broken() bool { return b.Worst() == inspection.Damage }

// inspectPath inspects whatever lies at a path.
func inspectPath(path string) (finding, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", campaign.ErrUsage, err)
	}
	if info.IsDir() {
		found, err := inspectStore(path)
		if err != nil || found != nil {
			return found, err
		}
	}
	if whole := storeAround(path); whole != "" {
		return inspectStore(whole)
	}
	report, err := inspectBookie(path, info)
	if err != nil {
		return nil, err
	}
	return bookieInspection{report}, nil
}

// storeAround is the directory of the single-node store that a path is a part of, or of its partition; empty: it is part of none. Their
// files say little by themselves, and are checked one against the other.
func storeAround(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	for at := path; filepath.Dir(at) != at; at = filepath.Dir(at) {
		above := filepath.Dir(at)
		switch filepath.Base(at) {
		case segmentLog.folder:
			if below, err := filepath.Rel(at, path); err == nil && strings.Count(below, string(os.PathSeparator)) == 3 {
				return filepath.Dir(path) // a file of partition/TOPIC/N
			}
			return above
		case messageLog.folder, "consumequeue", "index", "checkpoint", "tail":
			if messageLog.in(above) {
				return above
			}
		}
	}
	return ""
}

// inspectStore inspects what is of one of the single-node stores; nil: it is neither.
func inspectStore(path string) (finding, error) {
	segments, err := filepath.Glob(filepath.Join(path, "*.log"))
	if err != nil {
		return nil, nil // a name with signs of patterns in it, which no partition's directory has
	}
	partition, _ := strconv.Atoi(filepath.Base(path))
	isPartition := len(segments) > 0 && strconv.Itoa(partition) == filepath.Base(path)
	isVolume, isCommitLog := isDirectory(filepath.Join(path, "mstore")), isDirectory(filepath.Join(path, "commitlog"))
	if !isPartition && !isVolume && !isCommitLog {
		return nil, nil
	}
	dir, err := openDirectory(path)
	switch {
	case err != nil:
		return nil, err
	case isVolume:
		return told(segmentinspect.Volume(dir))
	case isCommitLog:
		return told(messageinspect.Store(dir))
	}
	return told(segmentinspect.PartitionDir(filepath.Base(path), dir))
}

// told keeps a failure from looking like something that was found.
func told[R finding](report R, err error) (finding, error) {
	if err != nil {
		return nil, fmt.Errorf("%w: %w", campaign.ErrUsage, err)
	}
	return report, nil
}

// inspectBookie inspects a bookie, a directory of one, or a file.
func inspectBookie(path string, info os.FileInfo) (*inspect.Report, error) {
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

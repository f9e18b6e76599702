package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lakebed/reports"
	"lakebed/trial/campaign"
)

// reportFilesMax bounds how many results one report is made of: a page of more is no longer read.
const reportFilesMax = 1000

// Names of the files that --out writes.
const (
	reportMarkdown = "report.md"
	reportPage     = "report.html"
)

// reportFlags is what the command line says about a report.
type reportFlags struct {
	out      string
	markdown string
	html     string
	json     bool
}

func (a *app) reportCommand() *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use:   "report DIR|FILE…",
		Short: "Show results: Markdown, or a page with plots",
		Long: `Read results that "bench --json" or "experiment run" wrote, and show them.

FILE is a result or a list of them; DIR stands for all files below it whose names end in .json, in the order of their
names. Directories whose names begin with a dot are passed over.

Without flags the report is Markdown on standard output. The page is one HTML file that needs nothing but itself: plots in
light and dark, each with its table, no script, no network. Equal results give equal bytes.`,
		Example: `  simrun bench --json >bench.json
  simrun report bench.json                      # Markdown, to read here
  simrun report bench.json --html bench.html    # a page to open in a browser
  simrun report results --out public            # report.md and report.html of everything in results
  simrun report results --json >all.json        # one list, which report reads again`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) == 0 {
				return fmt.Errorf("%w: report needs a file or a directory with results", campaign.ErrUsage)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, arguments []string) error { return a.report(f, arguments) },
	}
	flags := c.Flags()
	flags.StringVar(&f.out, "out", "", "write "+reportMarkdown+" and "+reportPage+" into this directory; made if it is missing")
	flags.StringVar(&f.markdown, "markdown", "", "write Markdown to this file")
	flags.StringVar(&f.html, "html", "", "write the page to this file")
	flags.BoolVar(&f.json, "json", false, "print one JSON list of all results")
	return c
}

func (a *app) report(f reportFlags, arguments []string) error {
	results, err := readReports(arguments)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := os.MkdirAll(f.out, 0o755); err != nil {
			return fmt.Errorf("%w: make the directory for the report: %w", campaign.ErrEnvironment, err)
		}
	}
	markdown := func(w io.Writer) error { return reports.MarkdownAll(w, results) }
	page := func(w io.Writer) error { return reports.Page(w, results) }
	var written []string
	for _, file := range []struct {
		path   string
		render func(io.Writer) error
	}{
		{f.markdown, markdown}, {f.html, page}, {inDirectory(f.out, reportMarkdown), markdown}, {inDirectory(f.out, reportPage), page},
	} {
		if file.path == "" {
			continue
		}
		if err := writeReport(file.path, file.render); err != nil {
			return err
		}
		written = append(written, file.path)
	}
	switch {
	case f.json:
		return a.writeOut(func(w io.Writer) error { return reports.WriteAllJSON(w, results) })
	case len(written) > 0:
		_, err := fmt.Fprintf(a.out, "%d results in %s\n", len(results), strings.Join(written, " and "))
		return err
	default:
		return a.writeOut(markdown)
	}
}

func (a *app) writeOut(render func(io.Writer) error) error {
	if err := render(a.out); err != nil {
		return fmt.Errorf("%w: print: %w", campaign.ErrEnvironment, err)
	}
	return nil
}

func inDirectory(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

// writeReport renders before it touches the file: what cannot be rendered leaves the old one alone.
func writeReport(path string, render func(io.Writer) error) error {
	var text bytes.Buffer
	if err := render(&text); err != nil {
		return fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("%w: write the report: %w", campaign.ErrEnvironment, err)
	}
	return nil
}

// readReports reads every result that the arguments name, in their order.
func readReports(arguments []string) ([]reports.Result, error) {
	var paths []string
	for _, argument := range arguments {
		found, err := resultFiles(argument)
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	if len(paths) > reportFilesMax {
		return nil, fmt.Errorf("%w: %d files are more than a report is made of; at most %d", campaign.ErrUsage, len(paths), reportFilesMax)
	}
	var results []reports.Result
	for _, path := range paths {
		read, err := reports.ReadResults(path)
		if errors.Is(err, reports.ErrNotResult) {
			return nil, fmt.Errorf("%w: %w", campaign.ErrUsage, err)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
		}
		results = append(results, read...)
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("%w: there are no results in %s: results are files ending in .json, as \"bench --json\" writes them",
			campaign.ErrUsage, strings.Join(arguments, ", "))
	}
	return results, nil
}

// resultFiles are the files that an argument stands for. WalkDir visits them in the order of their names.
func resultFiles(argument string) (paths []string, err error) {
	info, err := os.Stat(argument)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", campaign.ErrUsage, err)
	}
	if !info.IsDir() {
		return []string{argument}, nil
	}
	err = filepath.WalkDir(argument, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != argument && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case !entry.IsDir() && filepath.Ext(path) == ".json":
			paths = append(paths, path)
		}
		if len(paths) > reportFilesMax {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: look for results: %w", campaign.ErrEnvironment, err)
	}
	return paths, nil
}

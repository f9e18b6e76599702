package bookie

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"lakebed/engine/host"
)

// FlawFile is the name of the scrubber's list in the ledger directory: JSON, replaced as a whole at the end of a pass whose
// flaws differ from those listed. It is a note for people. The bookie does not read it, and what it says may be out of date.
const FlawFile = "scrub.json"

// flawFormat is the first thing in a FlawFile, so that nothing else is taken for one.
const flawFormat = "lakebed-scrub/1"

// FlawList is what a FlawFile holds.
type FlawList struct {
	Format  string    `json:"format"`
	Written host.Wall `json:"written_unix_nanos"`
	Flaws   []Flaw    `json:"flaws"`
	LeftOut int64     `json:"left_out"`
}

// DecodeFlawList reads the text of a FlawFile.
func DecodeFlawList(text []byte) (FlawList, error) {
	var l FlawList
	if err := json.Unmarshal(text, &l); err != nil {
		return FlawList{}, fmt.Errorf("list of flaws: %w", err)
	}
	if l.Format != flawFormat {
		return FlawList{}, fmt.Errorf("list of flaws has the format %q, want %q", l.Format, flawFormat)
	}
	return l, nil
}

// keepList writes the list down if there is news. A failure is told, and the next pass tries again.
func (c *scrubber) keepList() {
	now := c.store.Scrubbed()
	if !c.listed && len(now.Flaws) == 0 {
		c.listed = !c.listExists()
	}
	if c.listed && slices.Equal(now.Flaws, c.list) {
		return
	}
	list := FlawList{Format: flawFormat, Written: c.store.h.Now(), Flaws: now.Flaws, LeftOut: now.LeftOut}
	text, err := json.MarshalIndent(list, "", "  ")
	if err == nil {
		err = host.ReplaceFile(c.store.ledgerDir, FlawFile, append(text, '\n'))
	}
	if err != nil {
		c.log.Log(host.Warn, "scrubber cannot write its list", host.F("file", FlawFile), host.F("error", err))
		return
	}
	c.list, c.listed = now.Flaws, true
}

// listExists reports whether an earlier process left a list. One that cannot be opened is replaced.
func (c *scrubber) listExists() bool {
	file, err := c.store.ledgerDir.Open(FlawFile)
	if err == nil {
		_ = file.Close() // only looked for
	}
	return !errors.Is(err, host.ErrNotExist)
}

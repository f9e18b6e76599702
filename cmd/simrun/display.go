package main

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/sys/unix"

	"lakebed/trial/campaign"
)

// plainEvery is the time between two lines where there is no terminal.
const plainEvery = 5 * time.Second

// display shows how far a campaign is: a bar on a terminal, a line now and then elsewhere.
type display struct {
	to   io.Writer
	bars *mpb.Progress // nil: no terminal
	bar  *mpb.Bar
	last atomic.Pointer[campaign.Progress] // for the bar, which redraws itself in a task of its own
	next time.Duration                     // when the next line is due
}

func newDisplay(to io.Writer) *display {
	d := &display{to: to, next: plainEvery}
	if isTerminal(to) {
		d.bars = mpb.New(mpb.WithOutput(to))
	}
	return d
}

// isTerminal also wants to know the width: a bar without one has nowhere to be.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	return err == nil && size.Col > 0
}

// show is told after each seed.
func (d *display) show(p campaign.Progress) {
	if d.bars != nil {
		d.advance(p)
		return
	}
	if p.Elapsed >= d.next {
		d.next = p.Elapsed + plainEvery
		fmt.Fprintf(d.to, "%s  %s\n", p.Elapsed.Round(time.Second), words(p))
	}
}

func (d *display) advance(p campaign.Progress) {
	total, current := p.SeedsMax, p.Seeds
	if total == 0 {
		total, current = p.TimeMax.Milliseconds(), min(p.Elapsed, p.TimeMax).Milliseconds()
	}
	d.last.Store(&p)
	if d.bar == nil {
		d.bar = d.bars.AddBar(total, mpb.AppendDecorators(decor.Any(d.words)))
	}
	d.bar.SetCurrent(current)
}

// words stands behind the bar.
func (d *display) words(decor.Statistics) string { return " " + words(*d.last.Load()) }

func words(p campaign.Progress) string {
	done := fmt.Sprintf("%d", p.Seeds)
	if p.SeedsMax > 0 {
		done += fmt.Sprintf("/%d", p.SeedsMax)
	}
	return fmt.Sprintf("%s seeds, %d violations", done, p.Violations)
}

// end takes the bar away; the summary follows.
func (d *display) end() {
	if d.bars == nil {
		return
	}
	if d.bar != nil {
		d.bar.Abort(true)
	}
	d.bars.Wait()
}

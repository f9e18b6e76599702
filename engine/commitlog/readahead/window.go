package readahead

import "lakebed/engine/host"

// PageBytes is the unit in which is fetched (R4-29).
const PageBytes = 4 << 10

// Config bounds the windows of one reader.
type Config struct {
	Min int64 // the first window, behind what is read
	Max int64 // the largest; zero: nothing is fetched ahead
}

// Window is the read-ahead of one reader. The zero value with a Config has read nothing.
type Window struct {
	Config Config

	read  int64 // offset behind what he has read
	to    int64 // offset behind what is fetched, at least read once he reads on
	ahead int64 // the present window
	begun bool
}

// Step is what one read means.
type Step struct {
	Hit    bool      // all of it was fetched ahead
	Fetch  host.Span // what to fetch now; empty: nothing
	Wasted int64     // bytes that were fetched and that he has passed or left
}

// Read takes note that a range is read, of a log that ends at limit. goesOn: it is what comes next for this reader. Only he can
// tell: between two of his reads the log may have more of others than was ever fetched for him.
func (w *Window) Read(s host.Span, goesOn bool, limit int64) Step {
	end := s.Off + s.Len
	if !w.begun || !goesOn || s.Off < w.read {
		step := Step{Wasted: w.Unread()}
		w.begun, w.read, w.to, w.ahead = true, end, end, min(w.Config.Min, w.Config.Max)
		step.Fetch = w.fetch(limit)
		return step
	}
	step := Step{Hit: s.Len > 0 && end <= w.to, Wasted: min(s.Off, w.to) - w.read}
	w.read, w.to = end, max(w.to, end)
	if w.to-end < (w.ahead+1)/2 { // else there is enough ahead of him
		w.ahead = min(max(2*w.ahead, PageBytes), w.Config.Max)
		step.Fetch = w.fetch(limit)
	}
	return step
}

// Unread is how much was fetched that he has not read.
func (w *Window) Unread() int64 { return w.to - w.read }

// fetch extends what is fetched to the window's length.
func (w *Window) fetch(limit int64) host.Span {
	if w.ahead <= 0 {
		return host.Span{}
	}
	from, to := w.to, w.read+w.ahead
	if to = min((to+PageBytes-1)/PageBytes*PageBytes, limit); to <= from {
		return host.Span{}
	}
	w.to = to
	return host.Span{Off: from, Len: to - from}
}

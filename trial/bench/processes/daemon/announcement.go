package daemon

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Role is what a process of a cluster is.
type Role string

// The roles.
const (
	Bookie   Role = "bookie"
	Metadata Role = "metadata"
)

// Start is how a daemon came up.
type Start string

// The ways to come up.
const (
	New       Start = "new"       // of a bookie: nothing was there before
	Restarted Start = "restarted" // of a bookie: after a clean stop
	Recovered Start = "recovered" // of a bookie: the journal was replayed
	InMemory  Start = "in-memory" // of a metadata store: it always starts empty
)

// Announcement is what a daemon says when it can be used.
type Announcement struct {
	Role    Role
	Address string
	Start   Start
	Groups  int64 // of the journal that were replayed, if Start is Recovered
}

// ErrAnnouncement says that a line is no announcement.
var ErrAnnouncement = errors.New("no announcement")

const announced = "serving"

// String is the line, without its end.
func (a Announcement) String() string {
	line := fmt.Sprintf("%s %s %s %s", announced, a.Role, a.Address, a.Start)
	if a.Start == Recovered {
		line += fmt.Sprintf(" %d", a.Groups)
	}
	return line
}

// ParseAnnouncement reads what String wrote.
func ParseAnnouncement(line string) (Announcement, error) {
	words := strings.Fields(line)
	if len(words) < 4 || words[0] != announced {
		return Announcement{}, fmt.Errorf("%w: %q", ErrAnnouncement, line)
	}
	a := Announcement{Role: Role(words[1]), Address: words[2], Start: Start(words[3])}
	if a.Start == Recovered && len(words) == 5 {
		groups, err := strconv.ParseInt(words[4], 10, 64)
		if err != nil {
			return Announcement{}, fmt.Errorf("%w: %q: %w", ErrAnnouncement, line, err)
		}
		a.Groups = groups
	}
	if a.String() != strings.Join(words, " ") {
		return Announcement{}, fmt.Errorf("%w: %q", ErrAnnouncement, line)
	}
	return a, nil
}

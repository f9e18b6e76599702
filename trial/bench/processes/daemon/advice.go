package daemon

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

// Advice is a sentence on what an operator can do about the error of a daemon; empty if there is none.
func Advice(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, metadata.ErrNotInitialized) && !errors.Is(err, bookie.ErrCookie):
		return "if this is a new cluster, start one bookie with --initialize; if not, --metadata is the wrong store, " +
			"or one that lost its content (simrun metadata keeps it in memory only)"
	case errors.Is(err, metadata.ErrNotInitialized):
		return "the directories belong to a cluster that this metadata store does not know: connect to the store that does " +
			"(simrun metadata keeps its content in memory only), or take an empty --data directory for a new cluster"
	case errors.Is(err, bookie.ErrCookie):
		return "these directories are not those with which a bookie of this address served before: give it back its own " +
			"--data, or its own --address; a bookie that lost its directories comes back under another address"
	case errors.Is(err, host.ErrLocked):
		return "another process uses this directory: stop it, or take another --data"
	case errors.Is(err, bookie.ErrCorrupt):
		return "look at the directory with simrun inspect; a bookie with damaged files must not serve, since it would deny " +
			"entries that it acknowledged"
	case errors.Is(err, unix.EADDRINUSE):
		return "another process listens there: stop it, or take another address"
	case errors.Is(err, unix.EADDRNOTAVAIL), strings.Contains(err.Error(), "no such host"):
		return "this machine has no such address; --listen 0.0.0.0:PORT listens on all that it has"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EROFS):
		return "this process may not write there: take another --data, or another user"
	case errors.Is(err, ErrStopOverdue):
		return "the disk does not answer, or is so slow that a clean stop needs more time: see lakebed.stopTimeout; nothing that " +
			"was acknowledged is lost, the next start replays the journal"
	case errors.Is(err, host.ErrNoSpace):
		return "make room on the disk: what is in --data is needed there; smaller files: journalMaxSizeMB, logSizeLimit"
	}
	return ""
}

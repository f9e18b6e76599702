package metadata

import (
	"errors"
	"fmt"
	"strings"

	"lakebed/engine/host"
)

var (
	// ErrNotInitialized means that the store holds no cluster at this root.
	ErrNotInitialized = errors.New("no cluster at this root")

	// ErrForeignStore means that the store does not hold the cluster that the caller belongs to: it was emptied, made anew,
	// or is another one.
	ErrForeignStore = errors.New("the metadata store holds another cluster, or none")
)

// instanceIDBytesMax bounds what is taken for an identity.
const instanceIDBytesMax = 255

// InstanceID returns the latest identity of the cluster at a root; ErrNotInitialized. ErrContent if the cluster keeps its
// keys in another layout, so that nothing of it would be found.
func InstanceID(store Store, layout Layout, s *host.Scope) (string, error) {
	var values [2]string
	err := Latest(store, s, func() error {
		for i, key := range []string{layout.LayoutKey(), layout.InstanceIDKey()} {
			v, err := store.Get(key, s)
			if errors.Is(err, ErrNotExist) {
				err = fmt.Errorf("%w: %w", ErrNotInitialized, err)
			}
			if err != nil {
				return fmt.Errorf("read %s: %w", key, err)
			}
			values[i] = strings.TrimSpace(string(v.Data))
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("read the cluster at %s: %w", layout.Root, err)
	}
	if values[0] != layoutText {
		return "", fmt.Errorf("read %s: layout %.100q, want %q: %w", layout.LayoutKey(), values[0], layoutText, ErrContent)
	}
	if values[1] == "" || len(values[1]) > instanceIDBytesMax {
		return "", fmt.Errorf("read %s: %.100q is no identity: %w", layout.InstanceIDKey(), values[1], ErrContent)
	}
	return values[1], nil
}

// CheckInstanceID fails with ErrForeignStore if the store answers and does not hold the wanted cluster. Any other error
// says that it could not be asked.
//
// Cookies are looked at when a bookie starts. A store that loses everything under bookies that run would get them all
// back by their registrations, give out the same ledger ids again, and clients would read entries of the old ledgers as
// those of the new ones.
func CheckInstanceID(store Store, layout Layout, want string, s *host.Scope) error {
	found, err := InstanceID(store, layout, s)
	switch {
	case errors.Is(err, ErrNotInitialized) || errors.Is(err, ErrContent):
		return fmt.Errorf("cluster %q: %w: %w", want, ErrForeignStore, err)
	case err != nil:
		return err
	case found != want:
		return fmt.Errorf("cluster %q, and the store has %q: %w", want, found, ErrForeignStore)
	}
	return nil
}

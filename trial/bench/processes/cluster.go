package processes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"lakebed/trial/bench/processes/daemon"
)

// ErrNoBookie says that a number is none of the cluster's bookies, or not in the state that was asked for.
var ErrNoBookie = errors.New("no such bookie")

// Cluster is a metadata store and bookies that run.
type Cluster struct {
	options  Options
	nursery  *nursery
	metadata *Child
	address  string // of the metadata store
	bookies  []*bookie
}

// bookie is one that runs or has run.
type bookie struct {
	port     *reservation
	child    *Child // nil while it is dead
	last     daemon.Announcement
	before   time.Duration // processor time of earlier processes
	launched bool          // at least once, so that it does not found clusters any more
}

// Start starts a metadata store and bookies, and returns when all of them serve and are registered. The context bounds
// the start only.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	c := &Cluster{options: o, nursery: newNursery()}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	child, err := c.launch(daemon.Metadata, 0, []string{"metadata", "--listen", "127.0.0.1:0"}, nil)
	if err != nil {
		return err
	}
	c.metadata = child
	said, err := c.await(ctx, child)
	if err != nil {
		return err
	}
	c.address = said.Address
	all := make([]int, c.options.Bookies)
	for i := range all {
		port, err := reserve()
		if err != nil {
			return err
		}
		c.bookies = append(c.bookies, &bookie{port: port})
		all[i] = i
	}
	return c.Restart(ctx, all...)
}

// MetadataAddress is where the metadata store is.
func (c *Cluster) MetadataAddress() string { return c.address }

// BookieAddress is where a bookie is, also while it is dead.
func (c *Cluster) BookieAddress(i int) string { return c.bookies[i].port.address }

// BookieDir is the directory of a bookie.
func (c *Cluster) BookieDir(i int) string {
	return filepath.Join(c.options.Dir, fmt.Sprintf("bookie-%d", i))
}

// BookiePID is the process number of a bookie that runs.
func (c *Cluster) BookiePID(i int) int { return c.bookies[i].child.PID() }

// Bookies is how many there are, dead ones included.
func (c *Cluster) Bookies() int { return len(c.bookies) }

// Alive says whether a bookie runs.
func (c *Cluster) Alive(i int) bool {
	child := c.bookies[i].child
	if child == nil {
		return false
	}
	select {
	case <-child.Ended():
		return false
	default:
		return true
	}
}

// Announced is how a bookie came up last.
func (c *Cluster) Announced(i int) daemon.Announcement { return c.bookies[i].last }

// Launch starts another process below this one, such as a client that is to be killed. It dies with this process too. The
// caller reads its output and sees to its end before Close.
func (c *Cluster) Launch(name string, line []string) (*Child, error) {
	return c.nursery.launch(name, line, nil, c.options.Stderr)
}

func (c *Cluster) launch(role daemon.Role, i int, arguments, environment []string) (*Child, error) {
	line := append([]string{c.options.Executable}, arguments...)
	if c.options.Command != nil {
		line = c.options.Command(role, i, line)
	}
	name := string(role)
	if role == daemon.Bookie {
		name = fmt.Sprintf("%s %d at %s", role, i, c.BookieAddress(i))
	}
	return c.nursery.launch(name, line, environment, c.options.Stderr)
}

// line is what starts a bookie.
func (c *Cluster) line(i int) []string {
	line := []string{"bookie", "--data", c.BookieDir(i), "--address", c.BookieAddress(i), "--metadata", c.address}
	if !c.bookies[i].launched {
		line = append(line, "--initialize")
	}
	names := make([]string, 0, len(c.options.Settings))
	for name := range c.options.Settings {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		line = append(line, "--set", name+"="+c.options.Settings[name])
	}
	return line
}

// await waits until a child has announced itself, and reads on in the background so that it never waits for a reader.
func (c *Cluster) await(ctx context.Context, child *Child) (daemon.Announcement, error) {
	type answer struct {
		said daemon.Announcement
		err  error
	}
	first := make(chan answer, 1)
	go func() {
		lines := bufio.NewReader(child.Stdout)
		line, err := lines.ReadString('\n')
		var said daemon.Announcement
		if err == nil {
			said, err = daemon.ParseAnnouncement(strings.TrimSuffix(line, "\n"))
		}
		first <- answer{said, err}
		_, _ = io.Copy(io.Discard, lines)
		child.close()
	}()
	timeout := time.NewTimer(c.options.StartTimeout)
	defer timeout.Stop()
	select {
	case a := <-first:
		if errors.Is(a.err, io.EOF) {
			<-child.Ended()
			return a.said, fmt.Errorf("%s did not get ready: %w: %v%s", child.name, ErrEnded, child.command.ProcessState, child.Said())
		}
		if a.err != nil {
			return a.said, fmt.Errorf("%s did not get ready: %w%s", child.name, a.err, child.Said())
		}
		return a.said, nil
	case <-timeout.C:
		return daemon.Announcement{}, fmt.Errorf("%s did not get ready within %v%s", child.name, c.options.StartTimeout, child.Said())
	case <-ctx.Done():
		return daemon.Announcement{}, fmt.Errorf("start %s: %w", child.name, ctx.Err())
	}
}

// Restart starts bookies that do not run, all at the same time, and returns when they serve and are registered.
func (c *Cluster) Restart(ctx context.Context, bookies ...int) error {
	for _, i := range bookies {
		if err := c.check(i, false); err != nil {
			return err
		}
		b := c.bookies[i]
		c.bury(b)
		if err := os.MkdirAll(c.BookieDir(i), 0o755); err != nil {
			return fmt.Errorf("make room for bookie %d: %w", i, err)
		}
		child, err := c.launch(daemon.Bookie, i, c.line(i), c.options.Env)
		if err != nil {
			return err
		}
		b.child, b.launched = child, true
	}
	for _, i := range bookies {
		said, err := c.await(ctx, c.bookies[i].child)
		if err != nil {
			return err
		}
		c.bookies[i].last = said
	}
	return nil
}

func (c *Cluster) check(i int, alive bool) error {
	if i < 0 || i >= len(c.bookies) {
		return fmt.Errorf("%w: %d of %d", ErrNoBookie, i, len(c.bookies))
	}
	if c.Alive(i) != alive {
		return fmt.Errorf("%w: bookie %d runs: %t", ErrNoBookie, i, !alive)
	}
	return nil
}

// bury forgets a child that has ended.
func (c *Cluster) bury(b *bookie) {
	if b.child == nil {
		return
	}
	b.before += b.child.Consumed()
	b.child = nil
}

// Kill kills bookies without warning, all before it waits for any.
func (c *Cluster) Kill(bookies ...int) error {
	for _, i := range bookies {
		if err := c.check(i, true); err != nil {
			return err
		}
	}
	for _, i := range bookies {
		if err := c.bookies[i].child.Signal(syscall.SIGKILL); err != nil {
			return err
		}
	}
	for _, i := range bookies {
		<-c.bookies[i].child.Ended()
		c.bury(c.bookies[i])
	}
	return nil
}

// Stop has a bookie stop in good order. One that does not is killed, and an error.
func (c *Cluster) Stop(i int) error {
	if err := c.check(i, true); err != nil {
		return err
	}
	defer c.bury(c.bookies[i])
	return c.stop(c.bookies[i].child)
}

func (c *Cluster) stop(child *Child) error {
	if err := child.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.options.StopTimeout)
	defer cancel()
	err := child.Wait(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.Join(err, child.Signal(syscall.SIGKILL))
		<-child.Ended()
	}
	return err
}

// Usage is the processor time that the cluster has taken.
func (c *Cluster) Usage() Usage {
	u := Usage{Metadata: c.metadata.Consumed()}
	for _, b := range c.bookies {
		used := b.before
		if b.child != nil {
			used += b.child.Consumed()
		}
		u.Bookies = append(u.Bookies, used)
	}
	return u
}

// Close stops what runs, the bookies first, and returns what did not end in good order. Nothing of the cluster runs
// afterwards. It may be called again.
func (c *Cluster) Close() error {
	var wrong []error
	for i := range c.bookies {
		if c.bookies[i].child != nil && !c.Alive(i) {
			wrong = append(wrong, c.bookies[i].child.Wait(context.Background()))
		} else if c.Alive(i) {
			wrong = append(wrong, c.Stop(i))
		}
		c.bookies[i].port.release()
	}
	c.bookies = nil
	if c.metadata != nil {
		wrong = append(wrong, c.stop(c.metadata))
		c.metadata = nil
	}
	if c.nursery != nil {
		c.nursery.close()
		c.nursery = nil
	}
	return errors.Join(wrong...)
}

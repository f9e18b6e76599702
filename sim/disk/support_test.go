package disk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lakebed/engine/host"
)

const testCapacity = 1 << 20

// fatal is what the helpers need of *testing.T and *rapid.T.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

func must(t fatal, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

func mustBe(t fatal, err, class error) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Fatalf("got error %v, want one of class %q", err, class)
	}
}

func create(t fatal, r *Dir, name string) *File {
	t.Helper()
	f, err := r.Create(name)
	must(t, err)
	return f
}

func open(t fatal, r *Dir, name string) *File {
	t.Helper()
	f, err := r.Open(name)
	must(t, err)
	return f
}

func sub(t fatal, r *Dir, name string) *Dir {
	t.Helper()
	s, err := r.Sub(name)
	must(t, err)
	return s
}

func write(t fatal, f *File, off int64, p []byte) {
	t.Helper()
	n, err := f.WriteBuffersAt([][]byte{p}, off)
	must(t, err)
	if n != int64(len(p)) {
		t.Fatalf("wrote %d of %d bytes without an error", n, len(p))
	}
}

// content reads the whole file.
func readAll(t fatal, f *File) []byte {
	t.Helper()
	size, err := f.Size()
	must(t, err)
	p := make([]byte, size)
	_, err = f.ReadAt(p, 0)
	must(t, err)
	return p
}

// durableFile makes a file with a durable name and durable content.
func durableFile(t fatal, d *Disk, name string, p []byte) *File {
	t.Helper()
	f := create(t, d.Root(), name)
	write(t, f, 0, p)
	must(t, f.Sync())
	must(t, d.Root().SyncDir())
	return f
}

func filled(b byte, n int) []byte { return []byte(strings.Repeat(string(rune(b)), n)) }

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// describe shows all names, and of every file its content in runs: "a=x*3,0*2 d/".
func describe(t fatal, r *Dir) string {
	t.Helper()
	var words []string
	entries, err := r.List()
	must(t, err)
	for _, e := range entries {
		if e.Dir {
			words = append(words, e.Name+"/")
			if inner := describe(t, sub(t, r, e.Name)); inner != "" {
				words = append(words, "("+inner+")")
			}
			continue
		}
		f := open(t, r, e.Name)
		words = append(words, e.Name+"="+runs(readAll(t, f)))
		must(t, f.Close())
	}
	return strings.Join(words, " ")
}

func runs(p []byte) string {
	var parts []string
	for len(p) > 0 {
		n := 1
		for n < len(p) && p[n] == p[0] {
			n++
		}
		letter := string(rune(p[0]))
		if p[0] == 0 {
			letter = "0"
		}
		if n > 1 {
			letter += fmt.Sprint("*", n)
		}
		parts, p = append(parts, letter), p[n:]
	}
	return strings.Join(parts, ",")
}

// odometer is a chooser that runs through all sequences of decisions, one a crash.
type odometer struct {
	digits, limits []int64
	next           int
}

func (o *odometer) at(string, int64) {}

func (o *odometer) pick(n int64) int64 {
	ways := n
	if n > 16 {
		ways = 2 // of a wide range the ends
	}
	if o.next == len(o.digits) {
		o.digits, o.limits = append(o.digits, 0), append(o.limits, ways)
	}
	digit := o.digits[o.next]
	o.next++
	if n > 16 && digit == 1 {
		return n - 1
	}
	return digit
}

func (o *odometer) fill(p []byte) {
	for i := range p {
		p[i] = '#'
	}
}

// advance goes to the next sequence; false after the last.
func (o *odometer) advance() bool {
	o.next = 0
	for len(o.digits) > 0 {
		last := len(o.digits) - 1
		if o.digits[last]++; o.digits[last] < o.limits[last] {
			return true
		}
		o.digits, o.limits = o.digits[:last], o.limits[:last]
	}
	return false
}

// everyCrash returns all states, described, that a crash in a mode can leave after a history, sorted.
func everyCrash(t *testing.T, mode Survival, history func(d *Disk)) []string {
	t.Helper()
	states := map[string]bool{}
	o := &odometer{}
	for count := 0; ; count++ {
		if count > 1<<17 {
			t.Fatal("the history is too long to enumerate its crashes")
		}
		d := New(Config{Capacity: testCapacity})
		history(d)
		d.crash(mode, o)
		states[describe(t, d.Root())] = true
		if !o.advance() {
			return host.SortedKeys(states)
		}
	}
}

func wantStates(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("a crash can leave\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

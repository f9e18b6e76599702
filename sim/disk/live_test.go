package disk

import (
	"bytes"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"lakebed/engine/host"
)

// The reference: whole byte slices and whole maps, with nothing shared between what is live and what is durable.
type (
	plainFile struct{ live, durable []byte }
	plainDir  struct{ live, durable map[string]plainNode }
	plainNode struct {
		file *plainFile
		dir  *plainDir
	}
)

func newPlainDir() *plainDir {
	return &plainDir{live: map[string]plainNode{}, durable: map[string]plainNode{}}
}

// crash keeps all or nothing of what is not synced.
func (p *plainDir) crash(keep bool) {
	if keep {
		p.durable = maps.Clone(p.live)
	} else {
		p.live = maps.Clone(p.durable)
	}
	for _, n := range p.live {
		switch {
		case n.dir != nil:
			n.dir.crash(keep)
		case keep:
			n.file.durable = bytes.Clone(n.file.live)
		default:
			n.file.live = bytes.Clone(n.file.durable)
		}
	}
}

func (p *plainDir) describe() string {
	var words string
	for _, name := range host.SortedKeys(p.live) {
		n := p.live[name]
		if n.dir != nil {
			words += " " + name + "/"
			if inner := n.dir.describe(); inner != "" {
				words += " (" + inner[1:] + ")"
			}
			continue
		}
		words += " " + name + "=" + runs(n.file.live)
	}
	return words
}

func (p *plainDir) size() int64 {
	var total int64
	for _, n := range p.live {
		if n.dir != nil {
			total += n.dir.size()
		} else {
			total += pagesOf(int64(len(n.file.live)))
		}
	}
	return total
}

// machine drives a Disk and its reference with the same operations.
type machine struct {
	disk  *Disk
	plain *plainDir
	files []openFile
	next  byte
}

type openFile struct {
	file  *File
	plain *plainFile
}

var fileNames = rapid.SampledFrom([]string{"a", "b", "c", "d"})

// place picks a directory: the root or one below it, which it makes if it is missing.
func (m *machine) place(t *rapid.T) (*Dir, *plainDir) {
	r := m.disk.Root()
	name := rapid.SampledFrom([]string{"", "", "s", "t"}).Draw(t, "directory")
	if name == "" {
		return r, m.plain
	}
	n, ok := m.plain.live[name]
	if ok && n.file != nil {
		t.Skip("a file has that name")
	}
	if !ok {
		n = plainNode{dir: newPlainDir()}
		m.plain.live[name] = n
	}
	return sub(t, r, name), n.dir
}

func (m *machine) pick(t *rapid.T) openFile {
	if len(m.files) == 0 {
		t.Skip("no file is open")
	}
	return m.files[rapid.IntRange(0, len(m.files)-1).Draw(t, "file")]
}

func (m *machine) Create(t *rapid.T) {
	r, p := m.place(t)
	name := fileNames.Draw(t, "name")
	f, err := r.Create(name)
	if _, taken := p.live[name]; taken {
		mustBe(t, err, host.ErrExist)
		return
	}
	must(t, err)
	plain := &plainFile{}
	p.live[name] = plainNode{file: plain}
	m.files = append(m.files, openFile{f, plain})
}

func (m *machine) Open(t *rapid.T) {
	r, p := m.place(t)
	name := fileNames.Draw(t, "name")
	f, err := r.Open(name)
	n, ok := p.live[name]
	if !ok {
		mustBe(t, err, host.ErrNotExist)
		return
	}
	must(t, err)
	m.files = append(m.files, openFile{f, n.file})
}

func (m *machine) Close(t *rapid.T) {
	o := m.pick(t)
	must(t, o.file.Close())
	for i := range m.files {
		if m.files[i] == o {
			m.files = append(m.files[:i], m.files[i+1:]...)
			break
		}
	}
	_, err := o.file.Size()
	mustBe(t, err, host.ErrClosed)
}

func (m *machine) Write(t *rapid.T) {
	o := m.pick(t)
	off := rapid.IntRange(0, 3*PageSize).Draw(t, "offset")
	var b [][]byte
	var all []byte
	for _, n := range rapid.SliceOfN(rapid.IntRange(0, 2*PageSize), 0, 3).Draw(t, "lengths") {
		m.next++
		p := filled('A'+m.next%50, n)
		if m.next%5 == 0 {
			clear(p)
		}
		b, all = append(b, p), append(all, p...)
	}
	n, err := o.file.WriteBuffersAt(b, int64(off))
	must(t, err)
	if n != int64(len(all)) {
		t.Fatalf("wrote %d of %d bytes", n, len(all))
	}
	if end := off + len(all); len(all) > 0 && end > len(o.plain.live) {
		o.plain.live = append(o.plain.live, make([]byte, end-len(o.plain.live))...)
	}
	copy(o.plain.live[min(off, len(o.plain.live)):], all)
}

func (m *machine) Truncate(t *rapid.T) {
	o := m.pick(t)
	size := rapid.IntRange(0, 4*PageSize).Draw(t, "size")
	must(t, o.file.Truncate(int64(size)))
	kept := min(size, len(o.plain.live))
	o.plain.live = append(bytes.Clone(o.plain.live[:kept]), make([]byte, size-kept)...)
}

func (m *machine) Allocate(t *rapid.T) {
	o := m.pick(t)
	size := rapid.IntRange(0, 4*PageSize).Draw(t, "size")
	must(t, o.file.Allocate(0, int64(size)))
	if size > len(o.plain.live) {
		o.plain.live = append(o.plain.live, make([]byte, size-len(o.plain.live))...)
	}
}

func (m *machine) Read(t *rapid.T) {
	o := m.pick(t)
	off := rapid.IntRange(0, 5*PageSize).Draw(t, "offset")
	p := make([]byte, rapid.IntRange(1, 2*PageSize).Draw(t, "length"))
	n, err := o.file.ReadAt(p, int64(off))
	want := o.plain.live[min(off, len(o.plain.live)):]
	want = want[:min(len(want), len(p))]
	if !bytes.Equal(p[:n], want) {
		t.Fatalf("read of %d at %d gives %s, want %s", len(p), off, runs(p[:n]), runs(want))
	}
	if (n < len(p)) != (err != nil) || o.file.LastDamage().Any() {
		t.Fatalf("read %d of %d with error %v and damage %v", n, len(p), err, o.file.LastDamage())
	}
}

func (m *machine) Sync(t *rapid.T) {
	o := m.pick(t)
	must(t, o.file.Sync())
	o.plain.durable = bytes.Clone(o.plain.live)
}

func (m *machine) SyncDir(t *rapid.T) {
	r, p := m.place(t)
	must(t, r.SyncDir())
	p.durable = maps.Clone(p.live)
}

func (m *machine) Rename(t *rapid.T) {
	r, p := m.place(t)
	from, to := fileNames.Draw(t, "from"), fileNames.Draw(t, "to")
	err := r.Rename(from, to)
	n, ok := p.live[from]
	if !ok {
		mustBe(t, err, host.ErrNotExist)
		return
	}
	must(t, err)
	delete(p.live, from)
	p.live[to] = n
}

func (m *machine) Remove(t *rapid.T) {
	r, p := m.place(t)
	name := rapid.SampledFrom([]string{"a", "b", "c", "d", "s", "t"}).Draw(t, "name")
	err := r.Remove(name)
	n, ok := p.live[name]
	switch {
	case !ok:
		mustBe(t, err, host.ErrNotExist)
	case n.dir != nil && len(n.dir.live) > 0:
		mustBe(t, err, host.ErrExist)
	default:
		must(t, err)
		delete(p.live, name)
	}
}

func (m *machine) RenameDirectory(t *rapid.T) {
	n, ok := m.plain.live["s"]
	target, taken := m.plain.live["t"]
	err := m.disk.Root().Rename("s", "t")
	switch {
	case !ok:
		mustBe(t, err, host.ErrNotExist)
	case taken && len(target.dir.live) > 0:
		mustBe(t, err, host.ErrExist)
	default:
		must(t, err)
		delete(m.plain.live, "s")
		m.plain.live["t"] = n
	}
}

// DropCaches changes nothing where no write-back failed.
func (m *machine) DropCaches(*rapid.T) { m.disk.DropCaches() }

func (m *machine) CrashKeepingAll(t *rapid.T) { m.crash(t, Keep) }

func (m *machine) CrashDroppingAll(t *rapid.T) { m.crash(t, Drop) }

func (m *machine) crash(t *rapid.T, mode Survival) {
	m.disk.Crash(mode, nil)
	m.plain.crash(mode == Keep)
	m.files = nil
	if free, total := m.disk.Usage(); (total-free)/PageSize != m.plain.size() {
		t.Fatalf("%d pages are charged after a crash, want %d", (total-free)/PageSize, m.plain.size())
	}
}

func (m *machine) Check(t *rapid.T) {
	want := m.plain.describe()
	if want != "" {
		want = want[1:]
	}
	if got := describe(t, m.disk.Root()); got != want {
		t.Fatalf("the disk shows\n\t%s\nwant\n\t%s", got, want)
	}
	checkBooks(t, m.disk)
}

// checkBooks looks for pages that are lost, used twice, or dirty where they should not be.
func checkBooks(t fatal, d *Disk) {
	t.Helper()
	seen := map[*page]string{}
	take := func(p *page, owner string) {
		if p == nil || p == &zeroPage {
			return
		}
		if other, twice := seen[p]; twice {
			t.Fatalf("a page belongs to %s and to %s", other, owner)
		}
		seen[p] = owner
	}
	for _, p := range d.pool.free {
		take(p, "the pool")
	}
	var used, held int64
	for i, n := range d.files {
		if n.index != i {
			t.Fatalf("file %d thinks it is file %d", i, n.index)
		}
		used, held = used+n.used, held+n.held
		dirty := 0
		n.content.each(0, func(j int64, s *slot) {
			owner := fmt.Sprintf("page %d of file %d", j, i)
			take(s.media, owner)
			take(s.cache, owner)
			take(s.older, owner)
			if s.dirty != 0 {
				dirty++
			}
			if s.media == &zeroPage || (s.dirty != 0) != (s.versions > 0) || s.older != nil && s.dirty == 0 {
				t.Fatalf("%s is in the impossible state %+v", owner, *s)
			}
		})
		if dirty != len(n.content.dirty) {
			t.Fatalf("file %d has %d dirty pages and lists %d", i, dirty, len(n.content.dirty))
		}
	}
	if used != d.used || held != d.held {
		t.Fatalf("the files are charged %d+%d pages, the disk %d+%d", used, held, d.used, d.held)
	}
	if len(seen)%slabPages != 0 {
		t.Fatalf("%d pages are left of whole slabs: some are lost", len(seen))
	}
	if zeroPage != (page{}) {
		t.Fatalf("the shared page of zeros was written to")
	}
}

func TestLiveAndDurableViewsAreThoseOfANaiveReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{disk: New(Config{Capacity: 1 << 30}), plain: newPlainDir()}
		t.Repeat(rapid.StateMachineActions(m))
	})
}

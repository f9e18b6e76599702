package partition

import (
	"encoding/binary"
	"errors"
	"fmt"

	"lakebed/engine/host"
	"lakebed/engine/openfiles"
)

const (
	checkpointSuffix = ".checkpoint"
	checkpointMagic  = "SLCHECK1"
	checkpointMax    = 1 << 30 // bytes of a file that a start reads

	// looseBlocks is how many blocks a file of checkpoints may have beside one and a half times those that its items need, before it
	// is written anew. Runs are short where partitions are many, and a start reads all of them.
	looseBlocks = 8
)

// coverage is what the file of a segment's checkpoints holds.
type coverage struct {
	bytes  int64 // of the log are said to be durable
	index  int   // items
	times  int
	blocks int // of the file
}

// run is one checkpoint: what was added since the one before, in whole blocks, so that a torn write spoils no earlier one.
type run struct {
	block      int // number of its first block
	base, next Cursor
	logBytes   int64
	newest     Time
	indexFrom  int // items of earlier runs that stay; of the time index the last one may be replaced
	timesFrom  int
	index      []pair
	times      []pair
}

func blocksOf(items int) int { return (items + itemsPerBlock - 1) / itemsPerBlock }

func (r *run) blocks() int { return 1 + blocksOf(len(r.index)) + blocksOf(len(r.times)) }

func (r *run) after() coverage {
	return coverage{
		bytes: r.logBytes, index: r.indexFrom + len(r.index), times: r.timesFrom + len(r.times), blocks: r.block + r.blocks(),
	}
}

func (r *run) encode() []byte {
	b := make([]byte, r.blocks()*blockBytes)
	copy(b, checkpointMagic)
	for i, n := range []int{r.block, len(r.index), len(r.times), r.indexFrom, r.timesFrom} {
		binary.BigEndian.PutUint32(b[12+4*i:], uint32(n))
	}
	for i, n := range []int64{int64(r.base), int64(r.next), r.logBytes, int64(r.newest)} {
		binary.BigEndian.PutUint64(b[32+8*i:], uint64(n))
	}
	binary.BigEndian.PutUint32(b[8:], sum(b[12:blockBytes]))
	number := 1
	for _, items := range [][]pair{r.index, r.times} {
		for ; len(items) > 0; items = items[min(len(items), itemsPerBlock):] {
			encodeItems(b[number*blockBytes:][:blockBytes], r.block+number, items)
			number++
		}
	}
	return b
}

// decodeRun reads the run that begins with the block of this number. Not ok: it is none, or not whole.
func decodeRun(file []byte, block int) (r run, ok bool) {
	if len(file) < (block+1)*blockBytes {
		return r, false
	}
	b := file[block*blockBytes:]
	head := b[:blockBytes]
	if string(head[:8]) != checkpointMagic || binary.BigEndian.Uint32(head[8:]) != sum(head[12:]) {
		return r, false
	}
	number := func(i int) int { return int(binary.BigEndian.Uint32(head[12+4*i:])) }
	long := func(i int) int64 { return int64(binary.BigEndian.Uint64(head[32+8*i:])) }
	r = run{
		block: number(0), indexFrom: number(3), timesFrom: number(4),
		base: Cursor(long(0)), next: Cursor(long(1)), logBytes: long(2), newest: Time(long(3)),
	}
	at := 1
	for i, items := range []*[]pair{&r.index, &r.times} {
		for left := number(1 + i); left > 0; left -= itemsPerBlock {
			if len(b) < (at+1)*blockBytes {
				return r, false
			}
			items1 := b[at*blockBytes:][:blockBytes]
			count, err := checkBlock(items1, block+at)
			if err != nil || count != min(left, itemsPerBlock) {
				return r, false
			}
			for k := range count {
				*items = append(*items, itemAt(items1, k))
			}
			at++
		}
	}
	return r, r.block == block
}

// decodeCheckpoints returns what the whole runs at the front of a file say of the segment. Nil: there is none.
func decodeCheckpoints(file []byte, base Cursor) *segment {
	s := &segment{base: base, next: base}
	for {
		r, ok := decodeRun(file, s.covered.blocks)
		follows := r.base == base && r.next > s.next && r.logBytes > s.bytes && r.newest >= s.newest &&
			r.indexFrom == len(s.index) && r.timesFrom <= len(s.times)
		if !ok || !follows {
			break
		}
		s.next, s.bytes, s.newest, s.covered = r.next, r.logBytes, r.newest, r.after()
		s.index = append(s.index, r.index...)
		s.times = append(s.times[:r.timesFrom], r.times...)
	}
	if s.empty() || len(s.index) == 0 {
		return nil
	}
	return s
}

// checkpointDue is how much a segment may grow until its next checkpoint. Partitions share what a start may have to read,
// but in the mode never, where a checkpoint has to sync the log: many small syncs would be what that mode is there to avoid.
func (p *Partition) checkpointDue() int64 {
	if p.config.Sync == SyncNever || p.place.Writers == nil {
		return p.config.CheckpointBytes
	}
	return max(p.config.CheckpointBytes/max(p.place.Writers.Load(), 1), p.config.CheckpointBytesMin)
}

// capture is the next run of a segment: what of it is visible. If the runs before it take too much room it stands for all of
// them. The mutex is held.
func (p *Partition) capture(s *segment) *run {
	c := s.covered
	if least := 1 + blocksOf(c.index) + blocksOf(c.times); c.blocks > least+least/2+looseBlocks {
		c = coverage{}
	}
	r := &run{
		block: c.blocks, base: s.base, next: s.next, logBytes: s.bytes, newest: s.newest,
		indexFrom: c.index, timesFrom: max(c.times-1, 0), // the last item of times may have moved up since
	}
	r.index = append(r.index, s.index[r.indexFrom:]...)
	r.times = append(r.times, s.times[r.timesFrom:]...)
	return r
}

// checkpoint notes durably how much of the open segment is durable. What it says is true from the moment it is written, so
// that it may survive a crash or not. It runs in the settling task only.
func (p *Partition) checkpoint(s *segment, r *run) error {
	if !p.durable() {
		if err := p.syncBase(s.base); err != nil {
			return err
		}
	}
	var err error
	if r.block == 0 && s.covered.blocks > 0 {
		err = p.replaceCheckpoints(r)
	} else {
		err = p.addCheckpoint(r)
	}
	if err != nil {
		return fmt.Errorf("write checkpoint of segment %d: %w", s.base, err)
	}
	p.mutex.Lock()
	s.covered = r.after()
	p.mutex.Unlock()
	p.h.Probe().Mark(host.Event{Name: PointCheckpointed, A: int64(r.next), B: r.logBytes})
	return nil
}

// addCheckpoint writes a run behind those that are there, if there are any.
func (p *Partition) addCheckpoint(r *run) error {
	f, err := p.checkpointFile(r.base, r.block == 0)
	if err != nil {
		return err
	}
	defer f.Release()
	if err := host.WriteFullAt(f, r.encode(), int64(r.block)*blockBytes); err != nil {
		return err
	}
	p.h.Probe().Mark(host.Event{Name: PointCheckpointing, A: int64(r.next), B: r.logBytes})
	if err := f.Sync(); err != nil || r.block > 0 {
		return err
	}
	return p.place.Dir.SyncDir()
}

// replaceCheckpoints puts a run that stands for all in the place of those that are there. Until it is durable they are.
func (p *Partition) replaceCheckpoints(r *run) error {
	name := fileName(r.base, checkpointSuffix)
	if err := p.writeFresh(name+host.UnfinishedSuffix, r.encode()); err != nil {
		return err
	}
	p.h.Probe().Mark(host.Event{Name: PointCheckpointing, A: int64(r.next), B: r.logBytes})
	if err := p.place.Dir.Rename(name+host.UnfinishedSuffix, name); err != nil {
		return err
	}
	p.forgetFile(r.base, checkpointSuffix)
	p.h.Probe().Mark(host.Event{Name: PointCheckpointsReplaced, A: int64(r.next), B: int64(r.blocks())})
	return p.place.Dir.SyncDir()
}

// checkpointFile opens the file of a segment's checkpoints. Its first one makes it anew: whatever was there is of another life.
func (p *Partition) checkpointFile(base Cursor, fresh bool) (*openfiles.Handle, error) {
	key := openfiles.Key{Dir: p.place.Name, Name: fileName(base, checkpointSuffix)}
	if fresh {
		p.place.Files.Forget(key)
	}
	return p.place.Files.Open(key, func() (host.File, error) {
		if fresh {
			return host.CreateFresh(p.place.Dir, key.Name)
		}
		return p.place.Dir.Open(key.Name)
	})
}

// covered returns what a segment's checkpoints say is durable of its log, with the indexes of that. It is looked whether the
// log is as long, and whether its records from the last index item on end exactly there: of a log that was cut, or copied at
// another time than its checkpoints, what is missing is told. Nil: nothing is known.
func (p *Partition) covered(base Cursor) (*segment, error) {
	content, err := p.readCheckpoints(base)
	if err != nil || content == nil {
		return nil, err
	}
	s := decodeCheckpoints(content, base)
	p.h.Memory().Put(content)
	if s == nil {
		return nil, nil // the first one was under way
	}
	err = p.verify(s)
	if errors.Is(err, ErrCorrupt) {
		p.tellMissing(base, s.next, fmt.Errorf("its checkpoint says that %d bytes are durable: %w", s.bytes, err))
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("compare the log with its checkpoint: %w", err)
	}
	p.h.Probe().Mark(host.Event{Name: PointCheckpointUsed, A: int64(s.next), B: s.bytes})
	return s, nil
}

// readCheckpoints reads the file of a segment's checkpoints into a buffer of the host's. Nil: there is none.
func (p *Partition) readCheckpoints(base Cursor) ([]byte, error) {
	f, err := p.file(base, checkpointSuffix)
	if errors.Is(err, host.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Release()
	size, err := f.Size()
	if err != nil || size < blockBytes || size > checkpointMax {
		return nil, err
	}
	content := p.h.Memory().Get(int(size))
	if _, err := host.ReadFull(f, content, 0); err != nil {
		p.h.Memory().Put(content)
		return nil, fmt.Errorf("read checkpoint: %w", err)
	}
	return content, nil
}

// verify looks whether a log has what is said of it.
func (p *Partition) verify(s *segment) error {
	f, err := p.logOf(s.base)
	if err != nil {
		return err
	}
	defer f.Release()
	size, err := f.Size()
	if err != nil {
		return err
	}
	last := s.index[len(s.index)-1]
	if size < s.bytes || last.value < 0 || last.value >= s.bytes {
		return fmt.Errorf("log of %d bytes, %d are said to be durable: %w", size, s.bytes, ErrCorrupt)
	}
	scanner := newScanner(f, p.h.Memory(), &p.config)
	defer scanner.release()
	scanner.end = s.bytes
	scanner.seek(last.value, Cursor(last.key))
	for scanner.position < s.bytes {
		if _, err := scanner.record(); err != nil {
			return err
		}
	}
	if scanner.next != s.next {
		return fmt.Errorf("it ends at cursor %d, not %d: %w", scanner.next, s.next, ErrCorrupt)
	}
	return nil
}

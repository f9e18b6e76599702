package hosttest

import (
	"bytes"
	"errors"
	"io"

	"lakebed/engine/host"
)

// onFile gives boot a directory and a new file in it, and closes the file.
func onFile(boot func(h host.Host, d host.Dir, f host.File) error) Boot {
	return func(h host.Host) error {
		d, err := h.Disk(Volume)
		if err != nil {
			return must("open the volume", err)
		}
		f, err := d.Create("file")
		if err != nil {
			return must("create a file", err)
		}
		return errors.Join(boot(h, d, f), must("close the file", f.Close()))
	}
}

// holds says that the file must hold want at off.
func holds(f host.File, off int64, want []byte) error {
	got := make([]byte, len(want))
	if _, err := host.ReadFull(f, got, off); err != nil {
		return must("read back", err)
	}
	for i := range want {
		if got[i] != want[i] {
			return that(false, "byte %d: got %#x, want %#x", off+int64(i), got[i], want[i])
		}
	}
	return nil
}

func hasSize(f host.File, want int64) error {
	size, err := f.Size()
	return errors.Join(must("ask for the size", err), equal("size", size, want))
}

func files() []Contract {
	return []Contract{
		alone("CreateOfATakenNameFails", onFile(func(h host.Host, d host.Dir, f host.File) error {
			_, err := d.Create("file")
			return fails("create again", err, host.ErrExist)
		})),
		alone("OpenOfAMissingNameFails", onFile(func(h host.Host, d host.Dir, f host.File) error {
			_, err := d.Open("other")
			return fails("open", err, host.ErrNotExist)
		})),
		alone("TwoHandlesSeeTheSameBytes", onFile(twoHandles)),
		alone("ANewFileIsEmpty", onFile(func(h host.Host, d host.Dir, f host.File) error {
			return hasSize(f, 0)
		})),
		alone("HolesReadAsZero", onFile(readHole)),
		alone("TruncateCutsAndGrowsWithZeros", onFile(truncate)),
		alone("AllocateGrowsAndReadsAsZero", onFile(allocate)),
		alone("AllocateKeepsWhatIsThere", onFile(allocateOverData)),
		alone("SyncOfAnUnchangedFileSucceeds", onFile(func(h host.Host, d host.Dir, f host.File) error {
			return errors.Join(f.Sync(), f.Sync())
		})),
		alone("WritesPastTheCacheAreReadAsOthers", onFile(writePastCache)),
		alone("WritesThroughMemoryAreReadAsOthers", onFile(writeThroughMemory)),
		alone("AClosedFileRefusesEverything", closedFile),
		inLives("SyncedBytesAreThereInTheNextLife", writeAndSync, readWhatWasSynced),
	}
}

func twoHandles(h host.Host, d host.Dir, f host.File) error {
	second, err := d.Open("file")
	if err != nil {
		return must("open", err)
	}
	want := pattern(3000, 1)
	return errors.Join(
		host.WriteFullAt(f, want, 100),
		holds(second, 100, want),
		hasSize(second, 3100),
		second.Close(),
		holds(f, 100, want), // closing one handle leaves the other alone
	)
}

func readHole(h host.Host, d host.Dir, f host.File) error {
	return errors.Join(
		host.WriteFullAt(f, []byte("end"), 20000),
		holds(f, 0, make([]byte, 20000)),
		holds(f, 20000, []byte("end")),
	)
}

func truncate(h host.Host, d host.Dir, f host.File) error {
	data := pattern(10000, 2)
	return errors.Join(
		host.WriteFullAt(f, data, 0),
		f.Truncate(5001), hasSize(f, 5001), holds(f, 0, data[:5001]),
		// What was cut must not come back.
		f.Truncate(12000), hasSize(f, 12000), holds(f, 5001, make([]byte, 12000-5001)),
		f.Truncate(0), hasSize(f, 0),
	)
}

func allocate(h host.Host, d host.Dir, f host.File) error {
	return errors.Join(
		f.Allocate(0, 100_000), hasSize(f, 100_000), holds(f, 0, make([]byte, 100_000)),
		f.Allocate(150_000, 50_000), hasSize(f, 200_000), holds(f, 100_000, make([]byte, 100_000)),
	)
}

func allocateOverData(h host.Host, d host.Dir, f host.File) error {
	data := pattern(10_000, 3)
	return errors.Join(
		host.WriteFullAt(f, data, 0),
		f.Allocate(0, 5_000), hasSize(f, 10_000), // allocating inside a file never shrinks it
		f.Allocate(5_000, 10_000), hasSize(f, 15_000),
		holds(f, 0, data), holds(f, 10_000, make([]byte, 5_000)),
	)
}

// writePastCache mixes writes of whole pages, in pieces that are none, with those that no device takes as they are. Whether the
// machine can leave out its cache must not be seen.
func writePastCache(h host.Host, d host.Dir, f host.File) error {
	want := pattern(3<<20, 4)
	page := 4096
	err := host.WriteFullAt(f, want[:page], 0)
	host.WritePastCache(f)
	host.WritePastCache(f) // asked for twice
	write := func(from, to int, pieces ...int) {
		var b [][]byte
		at := from
		for _, n := range pieces {
			b = append(b, want[at:at+n])
			at += n
		}
		_, failed := host.WriteFull(f, append(b, want[at:to], nil), int64(from))
		err = errors.Join(err, must("write", failed))
	}
	write(page, 2*page, 1, 0, 4094)
	write(2*page, len(want)-page, 100, page, 1<<20)   // longer than what one call may take
	write(len(want)-page, len(want)-1, 1)             // ends within a page
	write(100, 300)                                   // and lies within one, which may be in the cache
	write(len(want)-2*page, len(want)-page, page/2)   // over what is there
	write(len(want)-2*page-1, len(want), 2*page-1, 2) // across
	return errors.Join(err, hasSize(f, int64(len(want))), holds(f, 0, want), must("sync", f.Sync()), holds(f, 0, want),
		f.Truncate(int64(page+1)), hasSize(f, int64(page+1)), holds(f, 0, want[:page+1]))
}

// writeThroughMemory mixes short writes and long ones, ahead and back, in space that is there, over its end and behind a cut. Whether
// the machine maps the file must not be seen.
func writeThroughMemory(h host.Host, d host.Dir, f host.File) error {
	source, want := pattern(5<<20, 6), make([]byte, 3<<20)
	err := f.Allocate(0, int64(len(want)))
	host.WriteThroughMemory(f)
	host.WriteThroughMemory(f) // asked for twice
	write := func(off int, pieces ...int) {
		var b [][]byte
		end := off
		for _, n := range pieces {
			b, end = append(b, source[end:end+n]), end+n
		}
		want = append(want, make([]byte, max(0, end-len(want)))...)
		copy(want[off:], source[off:end])
		_, failed := host.WriteFull(f, b, int64(off))
		err = errors.Join(err, must("write", failed))
	}
	for at := 0; at < 1<<20+9000; at += 137 {
		write(at, 100, 0, 37)
	}
	write(1<<20-10, 20)   // behind, and over the border of a MiB
	write(2<<20, 100_000) // longer than what is worth a copy
	write(2<<20+50_000, 1)
	write(100, 5)
	write(3<<20-5, 10) // over the end
	write(3<<20+5, 3)
	write(3<<20+100, 8) // behind a hole
	err = errors.Join(err, hasSize(f, int64(len(want))), holds(f, 0, want), must("sync", f.Sync()), holds(f, 0, want))
	const end = 1<<20 + 500
	err = errors.Join(err, f.Truncate(end), hasSize(f, end))
	want = want[:end]
	write(end-200, 100) // in the page of the cut
	write(end+1000, 10) // and behind the end
	write(end+50, 20)
	err = errors.Join(err, hasSize(f, int64(len(want))), holds(f, 0, want), f.Allocate(0, 2<<20))
	want = append(want, make([]byte, 2<<20-len(want))...)
	write(2<<20-1, 1)
	again, failed := d.Open("file")
	if failed != nil {
		return errors.Join(err, must("open the file again", failed))
	}
	return errors.Join(err, hasSize(again, int64(len(want))), holds(again, 0, want), again.Close())
}

func closedFile(h host.Host) error {
	d, err := h.Disk(Volume)
	if err != nil {
		return must("open the volume", err)
	}
	f, err := d.Create("file")
	if err != nil {
		return must("create a file", err)
	}
	if err := f.Close(); err != nil {
		return must("close the file", err)
	}
	_, readErr := f.ReadAt(make([]byte, 1), 0)
	_, writeErr := f.WriteBuffersAt([][]byte{{1}}, 0)
	_, sizeErr := f.Size()
	return errors.Join(
		fails("read", readErr, host.ErrClosed),
		fails("write", writeErr, host.ErrClosed),
		fails("size", sizeErr, host.ErrClosed),
		fails("sync", f.Sync(), host.ErrClosed),
		fails("allocate", f.Allocate(0, 1), host.ErrClosed),
		fails("truncate", f.Truncate(1), host.ErrClosed),
		fails("close again", f.Close(), host.ErrClosed),
	)
}

func writeAndSync(h host.Host) error {
	return onFile(func(h host.Host, d host.Dir, f host.File) error {
		return errors.Join(host.WriteFullAt(f, pattern(70_000, 4), 0), f.Sync(), d.SyncDir())
	})(h)
}

func readWhatWasSynced(h host.Host) error {
	d, err := h.Disk(Volume)
	if err != nil {
		return must("open the volume", err)
	}
	f, err := d.Open("file")
	if err != nil {
		return must("open the file of the life before", err)
	}
	return errors.Join(hasSize(f, 70_000), holds(f, 0, pattern(70_000, 4)), f.Close())
}

// transfers are the contracts of reads and writes, whose counts may be short.
func transfers() []Contract {
	return []Contract{
		alone("LoopedReadsAndWritesMoveEveryByte", onFile(moveEveryByte)),
		alone("AGatherWriteIsItsBuffersInOrder", onFile(gather)),
		alone("AGatherWriteTakesMoreBuffersThanOneCallOfTheMachine", onFile(gatherMany)),
		alone("WritingNothingChangesNothing", onFile(writeNothing)),
		alone("ReadingPastTheEndGivesEOF", onFile(readPastEnd)),
		alone("ReadFullOfAFileThatEndsFirstSaysSo", onFile(readFullPastEnd)),
	}
}

func moveEveryByte(h host.Host, d host.Dir, f host.File) error {
	data := pattern(300_000, 5)
	return errors.Join(
		host.WriteFullAt(f, data, 7),
		hasSize(f, 300_007),
		holds(f, 7, data),
		host.WriteFullAt(f, []byte("over"), 1000),
		holds(f, 1000, []byte("over")),
		holds(f, 1004, data[1004-7:]),
	)
}

func gather(h host.Host, d host.Dir, f host.File) error {
	buffers := [][]byte{pattern(1000, 6), {}, pattern(3, 7), nil, pattern(9000, 8)}
	kept := append([][]byte(nil), buffers...)
	want := bytes.Join(buffers, nil)
	n, err := host.WriteFull(f, buffers, 50)
	failures := []error{must("write", err), equal("bytes written", n, int64(len(want))), holds(f, 50, want)}
	for i := range buffers {
		failures = append(failures, that(bytes.Equal(kept[i], buffers[i]), "buffer %d was changed by the write", i))
	}
	return errors.Join(failures...)
}

func gatherMany(h host.Host, d host.Dir, f host.File) error {
	data := pattern(2500*7, 9)
	var buffers [][]byte
	for rest := data; len(rest) > 0; rest = rest[7:] {
		buffers = append(buffers, rest[:7])
	}
	n, err := host.WriteFull(f, buffers, 0)
	return errors.Join(must("write", err), equal("bytes written", n, int64(len(data))), holds(f, 0, data))
}

func writeNothing(h host.Host, d host.Dir, f host.File) error {
	var failures []error
	for _, nothing := range [][][]byte{nil, {}, {nil}, {{}, nil, {}}} {
		n, err := f.WriteBuffersAt(nothing, 500)
		failures = append(failures, must("write nothing", err), equal("bytes written", n, 0))
	}
	return errors.Join(append(failures, hasSize(f, 0))...)
}

func readPastEnd(h host.Host, d host.Dir, f host.File) error {
	if err := host.WriteFullAt(f, pattern(100, 10), 0); err != nil {
		return must("write", err)
	}
	atEnd, atEndErr := f.ReadAt(make([]byte, 10), 100)
	beyond, beyondErr := f.ReadAt(make([]byte, 10), 5000)
	return errors.Join(
		fails("read at the end", atEndErr, io.EOF), equal("bytes read at the end", atEnd, 0),
		fails("read beyond the end", beyondErr, io.EOF), equal("bytes read beyond the end", beyond, 0),
	)
}

func readFullPastEnd(h host.Host, d host.Dir, f host.File) error {
	data := pattern(100, 11)
	if err := host.WriteFullAt(f, data, 0); err != nil {
		return must("write", err)
	}
	got := make([]byte, 80)
	n, err := host.ReadFull(f, got, 60)
	return errors.Join(
		fails("read across the end", err, io.ErrUnexpectedEOF),
		equal("bytes read across the end", n, 40),
		that(bytes.Equal(got[:40], data[60:]), "the bytes before the end are not those of the file"),
	)
}

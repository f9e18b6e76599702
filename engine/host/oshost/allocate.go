package oshost

import (
	"golang.org/x/sys/unix"

	"lakebed/engine/host"
)

// zeroChunkBytes is how much the fallback of Allocate writes at a time.
const zeroChunkBytes = 1 << 20

func (f *file) Allocate(off, n int64) error {
	if off < 0 || n < 0 {
		return explain(unix.EINVAL, "allocate %d bytes at %d of %s", n, off, f.path)
	}
	if err := f.enter("allocate in"); err != nil {
		return err
	}
	defer f.mutex.RUnlock()
	if n == 0 {
		return nil // the kernel refuses it, and there is nothing to reserve
	}
	err := reserve(f.descriptor, off, n)
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		err = f.writeZeros(off + n)
	}
	if err != nil {
		return explain(err, "allocate %d bytes at %d of %s", n, off, f.path)
	}
	return nil
}

func reserve(descriptor int, off, n int64) error {
	for {
		if err := unix.Fallocate(descriptor, 0, off, n); !interrupted(err) {
			return err
		}
	}
}

// writeZeros grows the file to end by writing, for file systems that cannot reserve. It leaves what is below the
// present size alone: holes there stay unreserved, since filling them could overwrite what another task writes.
func (f *file) writeZeros(end int64) error {
	size, err := sizeOf(f.descriptor)
	if err != nil {
		return err
	}
	zeros := f.host.memory.Get(zeroChunkBytes)
	defer f.host.memory.Put(zeros)
	clear(zeros)
	for size < end {
		n, err := writeOne(f.descriptor, zeros[:min(end-size, zeroChunkBytes)], size)
		if err != nil {
			return err
		}
		if n == 0 {
			return host.ErrIO
		}
		size += int64(n)
	}
	return nil
}

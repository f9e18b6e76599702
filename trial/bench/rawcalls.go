package bench

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The raw line calls the kernel without telling Go's scheduler, as a program in C does. The ordinary way lets another
// goroutine have the processor during a sync and has to get one back afterwards: that took 5 to 12 % of the rate at
// groups of 128 KiB, and fio, which does not do that, no longer agreed with the line.

// rawVectorsMax is more than the two pieces that a source ever gives.
const rawVectorsMax = 4

// rawWrite is pwritev. It may write less than it was given.
func rawWrite(descriptor int, vectors [][]byte, at int64) (int, error) {
	var list [rawVectorsMax]unix.Iovec
	count := 0
	for ; count < min(len(vectors), rawVectorsMax); count++ {
		list[count].Base = unsafe.SliceData(vectors[count])
		list[count].SetLen(len(vectors[count]))
	}
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_PWRITEV, uintptr(descriptor), uintptr(unsafe.Pointer(&list)), uintptr(count),
			uintptr(at), uintptr(uint64(at)>>32), 0)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// rawSync is fdatasync.
func rawSync(descriptor int) error {
	for {
		switch _, _, errno := unix.RawSyscall(unix.SYS_FDATASYNC, uintptr(descriptor), 0, 0); errno {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return errno
		}
	}
}

package stores

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	rawFileBytes = 128 << 20 // written over from start to end again and again, so that its blocks are written ones
	rawFillBytes = 1 << 20   // at a time
	rawReadBytes = 256 << 10
)

// rawLog is the line beside the stores: as many payloads as there are appenders in one pwrite and one fdatasync, by one
// task, into a file that was filled before. No record, no checksum, nobody who waits.
type rawLog struct {
	file         *os.File
	descriptor   int
	payloadBytes int
	synced       bool
	at           int64
}

func rawStore() Store {
	return Store{
		Name: "raw", Kind: Line, Cannot: everywhere, Open: openRaw,
		How: "one task: as many payloads as there are appenders in one pwrite, and one fdatasync where synced, into a filled file; no framing, no checksum, no partitions",
	}
}

func openRaw(p Place) (Log, error) {
	f, err := os.OpenFile(filepath.Join(p.Dir, "raw"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make the raw line's file: %w", err)
	}
	zeros := make([]byte, rawFillBytes)
	for at := int64(0); at < rawFileBytes && err == nil; at += rawFillBytes {
		_, err = f.WriteAt(zeros, at)
	}
	if err = errors.Join(err, f.Sync()); err != nil {
		return nil, errors.Join(fmt.Errorf("fill the raw line's file: %w", err), f.Close())
	}
	return &rawLog{file: f, descriptor: int(f.Fd()), payloadBytes: p.Point.PayloadBytes, synced: p.Point.Synced}, nil
}

func (l *rawLog) Append(_ int, payload []byte) error { return l.AppendGroup(payload) }

// AppendGroup writes payloads that lie one behind the other. It calls the kernel without telling Go's scheduler, as a program in C
// does: the line is the machine's, not the language's.
func (l *rawLog) AppendGroup(payloads []byte) error {
	if l.at+int64(len(payloads)) > rawFileBytes {
		l.at = 0
	}
	for done := 0; done < len(payloads); {
		n, _, errno := unix.RawSyscall6(unix.SYS_PWRITE64, uintptr(l.descriptor), uintptr(unsafe.Pointer(&payloads[done])),
			uintptr(len(payloads)-done), uintptr(l.at)+uintptr(done), 0, 0)
		if errno != 0 && errno != unix.EINTR {
			return fmt.Errorf("write the raw line at %d: %w", l.at, errno)
		}
		if errno == 0 {
			done += int(n)
		}
	}
	l.at += int64(len(payloads))
	for l.synced {
		_, _, errno := unix.RawSyscall(unix.SYS_FDATASYNC, uintptr(l.descriptor), 0, 0)
		if errno == 0 {
			break
		}
		if errno != unix.EINTR {
			return fmt.Errorf("sync the raw line: %w", errno)
		}
	}
	return nil
}

// Read visits what lies in the file. After a wrap that is not all that was written, and the caller, who counts, keeps below it.
func (l *rawLog) Read(visit func([]byte)) error {
	buffer := make([]byte, max(rawReadBytes/l.payloadBytes, 1)*l.payloadBytes)
	for at := int64(0); at < l.at; at += int64(len(buffer)) {
		n := min(int64(len(buffer)), l.at-at)
		if _, err := l.file.ReadAt(buffer[:n], at); err != nil {
			return fmt.Errorf("read the raw line at %d: %w", at, err)
		}
		for b := buffer[:n]; len(b) > 0; b = b[l.payloadBytes:] {
			visit(b[:l.payloadBytes])
		}
	}
	return nil
}

func (l *rawLog) Close() error { return l.file.Close() }

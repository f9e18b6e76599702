package hosttest

import (
	"errors"

	"lakebed/engine/host"
)

// onBrokenFile gives boot a file that holds 4,000 synced bytes, in a world that can break it.
func onBrokenFile(boot func(f host.File, arm func(Fault)) error) func(h host.Host, arm func(Fault)) error {
	return func(h host.Host, arm func(Fault)) error {
		return onFile(func(h host.Host, d host.Dir, f host.File) error {
			if err := errors.Join(host.WriteFullAt(f, pattern(4000, 1), 0), f.Sync(), d.SyncDir()); err != nil {
				return must("prepare the file", err)
			}
			return boot(f, arm)
		})(h)
	}
}

func faults() []Contract {
	return []Contract{
		broken("AReadErrorIsReported", onBrokenFile(func(f host.File, arm func(Fault)) error {
			arm(ReadFails)
			n, err := f.ReadAt(make([]byte, 100), 0)
			return errors.Join(
				fails("read", err, host.ErrIO), that(n < 100, "all bytes came with an error"),
				holds(f, 0, pattern(4000, 1)),
			)
		})),
		broken("AWriteErrorIsReportedWithItsCount", onBrokenFile(func(f host.File, arm func(Fault)) error {
			arm(WriteFails)
			n, err := f.WriteBuffersAt([][]byte{pattern(100, 2), pattern(100, 3)}, 4000)
			return errors.Join(
				fails("write", err, host.ErrIO), that(n >= 0 && n < 200, "%d bytes of 200 came with an error", n),
				must("write again", host.WriteFullAt(f, pattern(100, 2), 4000)), holds(f, 4000, pattern(100, 2)),
			)
		})),
		broken("ASyncErrorIsReportedOnce", onBrokenFile(func(f host.File, arm func(Fault)) error {
			if err := host.WriteFullAt(f, pattern(100, 2), 4000); err != nil {
				return must("write", err)
			}
			arm(SyncFails)
			return errors.Join(fails("sync", f.Sync(), host.ErrIO), must("sync again", f.Sync()))
		})),
		broken("AFullVolumeIsReported", onBrokenFile(func(f host.File, arm func(Fault)) error {
			arm(NoSpace)
			n, err := f.WriteBuffersAt([][]byte{pattern(100, 2), pattern(100, 3)}, 4000)
			return errors.Join(
				fails("write", err, host.ErrNoSpace), that(n >= 0 && n < 200, "%d bytes of 200 came with an error", n),
				holds(f, 0, pattern(4000, 1)),
			)
		})),
		broken("AShortReadHasNoErrorAndReadFullGoesOn", onBrokenFile(func(f host.File, arm func(Fault)) error {
			arm(ShortRead)
			n, err := f.ReadAt(make([]byte, 4000), 0)
			failure := errors.Join(must("read", err), that(n > 0 && n < 4000, "a short read of %d bytes of 4000", n))
			arm(ShortRead)
			return errors.Join(failure, holds(f, 0, pattern(4000, 1)))
		})),
		broken("AShortWriteHasNoErrorAndWriteFullGoesOn", onBrokenFile(func(f host.File, arm func(Fault)) error {
			buffers := [][]byte{pattern(3000, 2), pattern(3000, 3)}
			arm(ShortWrite)
			n, err := f.WriteBuffersAt(buffers, 4000)
			failure := errors.Join(must("write", err), that(n > 0 && n < 6000, "a short write of %d bytes of 6000", n))
			arm(ShortWrite)
			n, err = host.WriteFull(f, buffers, 4000)
			return errors.Join(failure, must("write on", err), equal("bytes written", n, 6000),
				holds(f, 4000, buffers[0]), holds(f, 7000, buffers[1]))
		})),
	}
}

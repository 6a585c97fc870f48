//go:build unix

package sqllog

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// inode returns the number of a file in its file system. A file that replaces another one by rename
// has another number.
func inode(file fs.FileInfo) uint64 {
	if st, ok := file.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino) //nolint:unconvert // not 64 bits on every system
	}
	return 0
}

// slurp reads a file with the fewest calls to the kernel, because every Sync does it.
func slurp(path string) ([]byte, error) {
	fd, err := retry(func() (int, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing was written
	b := make([]byte, 0, 512)
	for {
		n, err := retry(func() (int, error) { return syscall.Read(fd, b[len(b):cap(b)]) })
		if err != nil {
			return nil, err
		}
		if b = b[:len(b)+n]; len(b) < cap(b) { // a regular file ends here
			return b, nil
		}
		b = slices.Grow(b, cap(b))
	}
}

// retry repeats a call that a signal has interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}

// share gives a new file the rights of another one, as SQLite does for its own files: a process of
// root must not keep the others out.
func share(f *os.File, like fs.FileInfo) {
	_ = f.Chmod(like.Mode().Perm()) // the umask may have removed some
	if st, ok := like.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		_ = f.Chown(int(st.Uid), int(st.Gid)) // if it fails, the others say that they lack the right
	}
}

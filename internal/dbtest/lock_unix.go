//go:build unix

package dbtest

import (
	"os"
	"syscall"
)

// tryLock locks a file until it is closed. It returns false if another process holds the lock.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

package dbtest

import (
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A temporary folder has a lock file. Its process holds the lock as long as it lives. A killed test
// leaves its folders, of 30 MB and more. The next process that starts a server takes the free locks
// and removes those folders.

const lockName = "lock"

var (
	locks sync.Map // of the folders of this process: *os.File by path
	swept sync.Once
)

// makeTemp makes a folder that [removeDir] removes.
func makeTemp() (string, error) {
	swept.Do(sweep)
	dir, err := os.MkdirTemp("", "dbtest") // a short name: a socket's path has a limit
	if err != nil {
		return "", err
	}
	lock, err := os.Create(filepath.Join(dir, lockName))
	if err != nil {
		return "", err
	}
	tryLock(lock)
	locks.Store(dir, lock)
	return dir, nil
}

// removeDir removes a folder that no server uses any more.
func removeDir(dir string) error {
	if lock, ok := locks.LoadAndDelete(dir); ok {
		_ = lock.(*os.File).Close() // nothing was written to it
	}
	return os.RemoveAll(dir)
}

// sweep removes the folders of processes that have ended. Those of other users stay.
func sweep() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "dbtest*")) // the pattern is well formed
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < time.Minute { // it may not have its lock yet
			continue
		}
		lock, err := os.Open(filepath.Join(dir, lockName))
		if err != nil {
			continue
		}
		if tryLock(lock) {
			freeSegment(filepath.Join(dir, "data"))
			_ = os.RemoveAll(dir)
		}
		_ = lock.Close() // nothing was written to it
	}
}

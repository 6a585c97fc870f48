package dbtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing/fstest"
)

// template is a fresh data folder. It is kept in memory, because a test binary has no end at which
// it could remove a folder. The zero value is empty.
type template struct {
	mu    sync.Mutex
	files fstest.MapFS
}

// copyTo writes the template to the new folder data. The first call makes the template with fill.
func (t *template) copyTo(as *account, data string, fill func(dir string) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.files == nil {
		dir, err := as.newDir("")
		if err != nil {
			return err
		}
		defer func() { _ = removeDir(dir) }()
		fresh := filepath.Join(dir, "data")
		if err := fill(fresh); err != nil {
			return err
		}
		if t.files, err = load(fresh); err != nil {
			return fmt.Errorf("dbtest: %w", err)
		}
	}
	return as.copyTree(data, t.files)
}

// load reads a folder into memory.
func load(dir string) (fstest.MapFS, error) {
	files := fstest.MapFS{}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		if d.IsDir() {
			files[path] = &fstest.MapFile{Mode: fs.ModeDir | 0o700}
			return nil
		}
		b, err := fs.ReadFile(root, path)
		files[path] = &fstest.MapFile{Data: b, Mode: 0o600}
		return err
	})
	return files, err
}

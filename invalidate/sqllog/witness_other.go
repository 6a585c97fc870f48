//go:build !unix

package sqllog

import (
	"io/fs"
	"os"
)

// inode returns 0: there is no number to compare.
func inode(fs.FileInfo) uint64 { return 0 }

// slurp reads a file.
func slurp(path string) ([]byte, error) { return os.ReadFile(path) }

// share does nothing: a new file has the rights of its folder.
func share(*os.File, fs.FileInfo) {}

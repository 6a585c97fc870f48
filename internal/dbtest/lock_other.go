//go:build !unix

package dbtest

import "os"

// Without locks no folder is known to be left behind.
func tryLock(*os.File) bool { return false }

//go:build !unix

package dbtest

import "os"

// Without locks nothing is known to be left behind.
func tryLock(*os.File) bool { return false }

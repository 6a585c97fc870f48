//go:build unix

package measure

import (
	"time"

	"golang.org/x/sys/unix"
)

// CPU returns the processor time of this process so far, or 0 if it is unknown.
func CPU() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

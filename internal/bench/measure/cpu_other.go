//go:build !unix

package measure

import "time"

// CPU returns the processor time of this process so far; 0 where it cannot be
// told.
func CPU() time.Duration { return 0 }

//go:build !unix

package measure

import "time"

// CPU returns the processor time of this process so far, or 0 if it is unknown.
func CPU() time.Duration { return 0 }

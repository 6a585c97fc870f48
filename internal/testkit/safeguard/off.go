//go:build twofold_controls

package safeguard

import (
	"os"
	"slices"
	"strings"
)

var off = strings.Split(os.Getenv("TWOFOLD_SAFEGUARDS_OFF"), ",")

// Off reports whether the safeguard is removed.
func Off(g Guard) bool { return slices.Contains(off, string(g)) }

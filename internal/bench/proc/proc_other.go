//go:build !linux

package proc

// Supported says whether this system has what a run needs.
const Supported = false

// Now returns 0.
func Now() int64 { return 0 }

// Paused returns false.
func (c *Child) Paused() bool { return false }

// KillSelf does nothing.
func KillSelf() {}

// StopSelf does nothing.
func StopSelf() {}

//go:build !linux

package proc

import "os/exec"

// Supported says whether this system has what a run needs.
const Supported = false

// Now returns 0.
func Now() int64 { return 0 }

func tie(*exec.Cmd) {}

// Pause does nothing: there is no child.
func (c *Child) Pause() {}

// Resume does nothing.
func (c *Child) Resume() {}

// Paused returns false.
func (c *Child) Paused() bool { return false }

// KillSelf does nothing.
func KillSelf() {}

// StopSelf does nothing.
func StopSelf() {}

//go:build !linux

package proc

import "os/exec"

// Supported says whether this system has what a run needs.
const Supported = false

// Now returns 0.
func Now() int64 { return 0 }

func tie(*exec.Cmd) {}

// Pause returns ErrSystem.
func (c *Child) Pause() error { return ErrSystem }

// Resume returns ErrSystem.
func (c *Child) Resume() error { return ErrSystem }

// Paused returns false.
func (c *Child) Paused() bool { return false }

// KillSelf does nothing.
func KillSelf() {}

// StopSelf does nothing.
func StopSelf() {}

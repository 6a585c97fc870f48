//go:build !race

// Package race tells tests whether they run under the race detector. The detector makes sync.Pool
// drop items at random, adds its own allocations, and makes long tests ten times as long.
package race

// Enabled reports whether the race detector is part of the program.
const Enabled = false

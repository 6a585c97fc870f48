//go:build !race

// Package race tells tests whether they run under the race detector: it makes sync.Pool
// drop items at random, counts allocations of its own, and makes what is long ten times as
// long.
package race

// Enabled reports whether the race detector is part of the program.
const Enabled = false

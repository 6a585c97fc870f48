// Package delta is indexed by a test.
package delta

// Name is its name.
const Name = "delta"

// Double doubles n.
func Double(n int) int { return 2 * n }

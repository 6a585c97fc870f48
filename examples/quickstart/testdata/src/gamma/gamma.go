// Package gamma is indexed by a test.
package gamma

// Name is its name.
const Name = "gamma"

// Double doubles n.
func Double(n int) int { return 2 * n }

// Package beta is indexed by a test.
package beta

// Name is its name.
const Name = "beta"

// Double doubles n.
func Double(n int) int { return 2 * n }

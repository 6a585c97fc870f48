// Package alpha is indexed by a test.
package alpha

// Name is its name.
const Name = "alpha"

// Double doubles n.
func Double(n int) int { return 2 * n }

//go:build race

package fetchers_test

// limit is the greatest length of a body. The race detector is slow.
const limit = 1 << 20

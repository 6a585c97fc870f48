//go:build race

package fetchers_test

// limit is smaller, because the race detector is slow.
const limit = 1 << 20

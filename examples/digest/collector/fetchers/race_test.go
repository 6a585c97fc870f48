//go:build race

package fetchers_test

// limit is shorter under the race detector, which makes all of it slower.
const limit = 1 << 20

//go:build !race

package fetchers_test

// limit is the greatest length of a body.
const limit = 15<<20 - 1<<10

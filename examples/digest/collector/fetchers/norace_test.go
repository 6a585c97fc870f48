//go:build !race

package fetchers_test

// limit is how long a body may be.
const limit = 15<<20 - 1<<10

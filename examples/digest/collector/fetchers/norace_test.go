//go:build !race

package fetchers_test

const limit = 15<<20 - 1<<10

//go:build !race

package httpcache_test

const raceEnabled = false

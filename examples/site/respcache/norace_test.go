//go:build !race

package respcache_test

const raceEnabled = false

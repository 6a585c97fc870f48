//go:build !race

package sizeof_test

const raceEnabled = false

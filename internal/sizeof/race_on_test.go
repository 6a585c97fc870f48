//go:build race

package sizeof_test

const raceEnabled = true

//go:build race

package invalidate_test

const raceEnabled = true

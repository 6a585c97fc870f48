//go:build !race

package tiertest

const raceEnabled = false

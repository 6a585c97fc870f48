//go:build race

package tiertest

// raceEnabled tells the allocation checks that sync.Pool drops items at random.
const raceEnabled = true

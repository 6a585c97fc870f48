//go:build race

package track_test

// modelSteps are few, because SQLite is thirty times as slow under the race detector.
const modelSteps = 80

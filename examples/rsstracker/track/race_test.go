//go:build race

package track_test

// modelSteps are few under the race detector, under which SQLite is thirty times as
// slow.
const modelSteps = 80

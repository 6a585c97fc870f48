//go:build race

package wire

// tripsChecked is true: a program with the race detector compares a first value of each cache with
// what its codec makes of it.
const tripsChecked = true

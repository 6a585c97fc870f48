//go:build race

package wire

// tripsChecked: a program that is built with the race detector compares a first value of each
// cache with what its codec makes of it.
const tripsChecked = true

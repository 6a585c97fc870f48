//go:build !race

package wire

// tripsChecked is false: a program without the race detector compares values with what its codec
// makes of them only if package trip asks for it.
const tripsChecked = false

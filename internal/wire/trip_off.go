//go:build !race

package wire

// tripsChecked: a program that is built without the race detector does not compare values with
// what its codec makes of them, unless package trip asks for it.
const tripsChecked = false

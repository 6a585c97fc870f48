//go:build !race

package cache

// Programs built without the race detector do not look at what a codec makes of
// their values, unless a kit for tests asks.
const tripsChecked = false

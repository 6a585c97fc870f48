//go:build race

package origin_test

// The race detector needs ten times as long for each byte and each URL.
const bigURLs, padding = 5_000, 900

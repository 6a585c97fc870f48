//go:build !race

package origin_test

const bigURLs, padding = 50_000, 900

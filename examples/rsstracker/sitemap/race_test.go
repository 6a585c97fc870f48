//go:build race

package sitemap_test

// padding is shorter under the race detector, which takes ten times as long for
// each byte: the number of URLs is the same, and so is what is held in memory.
const padding = 100

//go:build race

package sitemap_test

// padding is shorter, because the race detector needs ten times as long for each byte. The
// number of URLs is the same, and so is the memory in use.
const padding = 100

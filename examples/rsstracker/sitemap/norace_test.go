//go:build !race

package sitemap_test

const padding = 900

package coding_test

import (
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache/internal/coding"
)

// A coding that a program made once serves tests in bubbles of synctest, one after the other. On
// failure the Go runtime aborts the whole test binary.
func TestCodingServesManyBubbles(t *testing.T) {
	for _, c := range []coding.Coding{coding.Gzip(0), coding.Zstd(0)} {
		for range 2 {
			synctest.Test(t, func(t *testing.T) {
				if len(c.Pack([]byte("a page"))) == 0 {
					t.Errorf("%v made nothing of a page", c.Kind)
				}
			})
		}
	}
}

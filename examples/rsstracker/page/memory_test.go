package page_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/rsstracker/page"
)

// allocated returns the bytes that were allocated while do ran, garbage included.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestMemory: a page of the greatest length needs little memory, whatever its content.
func TestMemory(t *testing.T) {
	const limit = 64 << 20
	size := 15 << 20
	if raced {
		size = 2 << 20
	}
	fonts := "<p>"
	for i := range 400 {
		fonts += fmt.Sprintf("<font size=%d>", i)
	}
	for name, tc := range map[string]struct{ head, piece string }{
		"elements":            {"", "<p>"},
		"nested":              {"", "<div>"},
		"attributes":          {"<p ", "a "},
		"elements with them":  {"", "<p a b c d>"},
		"elements come again": {fonts + "</p>", "<p>x"}, // a browser's parser makes 400 of each
		"text":                {"<article>", "word "},
		"texts":               {"<article>", "w<br>"},
		"meta elements":       {"", "<meta name=a content=b>"},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte("<title>A</title>" + tc.head + strings.Repeat(tc.piece, (size-len(tc.head))/len(tc.piece)))
			if name == "elements come again" {
				body = body[:1<<20] // so that an unbounded parser does not use all memory
			}
			taken := allocated(func() {
				if m, err := page.Parse(body, "text/html"); err != nil || m.Title != "A" {
					t.Errorf("Parse = %+v, %v", m, err)
				}
			})
			if t.Logf("%d MiB", taken>>20); taken > limit {
				t.Errorf("%d MiB were allocated, want at most %d", taken>>20, limit>>20)
			}
		})
	}
}

package page_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/rsstracker/page"
)

// grown returns the largest growth of the heap, including garbage, while do runs.
func grown(do func()) (most uint64) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before, done := heap(), make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	for {
		if now := heap(); now > before {
			most = max(most, now-before)
		}
		select {
		case <-done:
			return most
		default:
			runtime.Gosched()
		}
	}
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
		"JSON-LD":             {`<script type="application/ld+json">[`, `{"":0},`},
		"meta elements":       {"", "<meta name=a content=b>"},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte("<title>A</title>" + tc.head + strings.Repeat(tc.piece, (size-len(tc.head))/len(tc.piece)))
			if name == "elements come again" {
				body = body[:1<<20] // so that an unbounded parser does not use all memory
			}
			most := grown(func() {
				if m, err := page.Parse(body, "text/html", ""); err != nil || m.Title != "A" {
					t.Errorf("Parse = %+v, %v", m, err)
				}
			})
			if t.Logf("%d MiB", most>>20); most > limit {
				t.Errorf("the heap grew by %d MiB, want at most %d", most>>20, limit>>20)
			}
		})
	}
}

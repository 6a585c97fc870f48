package sitemap_test

import (
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
)

// big is a sitemap that is generated while it is read. It has 50,000 URLs and, with the
// padding, about 50 MB, the most that the protocol allows.
type big struct {
	next int
	buf  []byte
}

const bigURLs = 50_000

func (b *big) Read(p []byte) (int, error) {
	if len(b.buf) == 0 {
		switch {
		case b.next == 0:
			b.buf = []byte("<urlset>")
		case b.next <= bigURLs:
			b.buf = fmt.Appendf(b.buf, "<url><loc>https://example.com/%d/%0*d</loc><lastmod>2026-01-02T03:04:05Z</lastmod></url>\n", b.next, padding, b.next)
		case b.next == bigURLs+1:
			b.buf = []byte("</urlset>")
		default:
			return 0, io.EOF
		}
		b.next++
	}
	n := copy(p, b.buf)
	b.buf = b.buf[n:]
	return n, nil
}

// TestMemory reads the largest sitemap and measures what is alive on the way. Garbage does not
// count: how much there is depends on when the collector runs.
func TestMemory(t *testing.T) {
	const limit = 1 << 20
	var m runtime.MemStats
	heap := func() uint64 {
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, live := heap(), uint64(0)
	read, n := 0, 0
	src := io.TeeReader(&big{}, writerFunc(func(p []byte) (int, error) { read += len(p); return len(p), nil }))
	sum, err := sitemap.Read(src, sitemap.Options{}, func(sitemap.Entry) error {
		if n++; n%5_000 == 0 {
			if now := heap(); now > before {
				live = max(live, now-before)
			}
		}
		return nil
	})
	if err != nil || sum.Partial != nil || sum.Entries != bigURLs {
		t.Fatalf("Read = %+v, %v", sum, err)
	}
	t.Logf("%d URLs, %d MB, at most %.1f MiB live", n, read>>20, float64(live)/(1<<20))
	if live > limit {
		t.Errorf("%d bytes are alive, want at most %d", live, limit)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

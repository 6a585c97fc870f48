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

// TestMemory reads the largest sitemap and measures the heap on the way, once including
// garbage and once after a collection.
func TestMemory(t *testing.T) {
	const limit = 32 << 20
	var m runtime.MemStats
	heap := func() uint64 {
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var most, live uint64
	read, n := 0, 0
	src := io.TeeReader(&big{}, writerFunc(func(p []byte) (int, error) { read += len(p); return len(p), nil }))
	sum, err := sitemap.Read(src, sitemap.Options{}, func(sitemap.Entry) error {
		if n++; n%5_000 == 0 {
			most = max(most, heap())
			runtime.GC()
			live = max(live, heap())
		}
		return nil
	})
	if err != nil || sum.Partial != nil || sum.Entries != bigURLs {
		t.Fatalf("Read = %+v, %v", sum, err)
	}
	t.Logf("%d URLs, %d MB, at most %.1f MiB of heap, %.1f live", n, read>>20, float64(most)/(1<<20), float64(live)/(1<<20))
	if most > limit {
		t.Errorf("%d bytes of heap, want at most %d", most, limit)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

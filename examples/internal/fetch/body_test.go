package fetch_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// pack compresses text with a coding.
func pack(t *testing.T, coding, text string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	default:
		return text
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBodies(t *testing.T) {
	long := strings.Repeat("all work and no play ", 500) // 10,500 bytes
	gz := pack(t, "gzip", long)
	for _, tt := range []struct {
		name     string
		encoding []string
		body     string
		max      int64
		want     string
		wantErr  error
	}{
		{name: "as it is", body: long, want: long},
		{name: "identity", encoding: []string{"identity"}, body: long, want: long},
		{name: "gzip", encoding: []string{"gzip"}, body: gz, want: long},
		{name: "x-gzip", encoding: []string{"X-GZIP"}, body: gz, want: long},
		{name: "two members", encoding: []string{"gzip"}, body: gz + gz, want: long + long},
		{name: "twice, in one line", encoding: []string{"gzip, gzip"}, body: pack(t, "gzip", gz), wantErr: fetch.ErrEncoding},
		{name: "twice, in two lines", encoding: []string{"gzip", "gzip"}, body: pack(t, "gzip", gz), wantErr: fetch.ErrEncoding},
		{name: "nothing", body: "", want: ""},
		{name: "nothing, as gzip", encoding: []string{"gzip"}, body: "", want: ""},
		{name: "br was not asked for", encoding: []string{"br"}, body: "x", wantErr: fetch.ErrEncoding},
		{name: "gzip that is not", encoding: []string{"gzip"}, body: long, wantErr: fetch.ErrEncoding},
		{name: "gzip that ends early", encoding: []string{"gzip"}, body: gz[:len(gz)-20], wantErr: fetch.ErrTruncated},
		{name: "gzip without its checksum", encoding: []string{"gzip"}, body: gz[:len(gz)-8], wantErr: fetch.ErrTruncated},
		{name: "gzip that ends in its header", encoding: []string{"gzip"}, body: gz[:5], wantErr: fetch.ErrTruncated},
		{name: "wrong checksum", encoding: []string{"gzip"}, body: gz[:len(gz)-8] + "12345678", wantErr: fetch.ErrEncoding},
		{name: "rubbish behind it", encoding: []string{"gzip"}, body: gz + "rubbish, longer than a header", want: long},
		{name: "a byte behind it", encoding: []string{"gzip"}, body: gz + "\n", want: long},
		{name: "rubbish that begins like gzip behind it", encoding: []string{"gzip"}, body: gz + "\x1f\x8bx", want: long},
		{name: "gzip without the header", body: gz, want: long},
		{name: "gzip in gzip", encoding: []string{"gzip"}, body: pack(t, "gzip", gz), want: long},
		{name: "gzip with another label", encoding: []string{"utf-8"}, body: gz, want: long},
		{name: "a charset as its encoding", encoding: []string{"UTF-8"}, body: long, want: long},
		{name: "another charset as its encoding", encoding: []string{"iso-8859-1"}, body: long, want: long},
		{name: "as long as it may be", body: long, max: 10_500, want: long},
		{name: "too long by its own account", body: long, max: 10_499, wantErr: fetch.ErrTooLarge},
		{name: "as long as it may be, compressed", encoding: []string{"gzip"}, body: gz, max: 10_500, want: long},
		{name: "too long when unpacked", encoding: []string{"gzip"}, body: gz, max: 10_499, wantErr: fetch.ErrTooLarge},
	} {
		for _, packed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, packed %v", tt.name, packed), func(t *testing.T) {
				o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header()["Content-Encoding"] = tt.encoding
					w.Header().Set("Content-Type", "text/plain")
					fmt.Fprint(w, tt.body)
				})
				c := local(t)
				resp, err := c.Get(t.Context(), fetch.Request{URL: o.URL, MaxBytes: tt.max, Packed: packed})
				if got := content(t, resp); !errors.Is(err, tt.wantErr) || got != tt.want {
					t.Fatalf("Get = %d bytes, %v; want %d, %v", len(got), err, len(tt.want), tt.wantErr)
				}
				if s := c.Stats(); err == nil && s.Wire != int64(len(tt.body)) {
					t.Errorf("Stats %+v; want %d read", s, len(tt.body))
				}
			})
		}
	}
}

// allocated returns the bytes that were allocated while f ran, garbage included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Ten megabytes of zeros are ten kilobytes of gzip. The decompressed bytes are bounded, and
// so are the bytes read of a gzip that decompresses to nothing.
func TestBombs(t *testing.T) {
	zeros := pack(t, "gzip", strings.Repeat("\x00", 10<<20))
	nothing := strings.Repeat(pack(t, "gzip", ""), 50_000) // a megabyte of empty gzip members
	for name, body := range map[string]string{"zeros": zeros, "nothing": nothing} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, fetch.Config{Transport: wire(func(*http.Request) (*http.Response, error) {
				return reply(200, body, "Content-Encoding", "gzip"), nil
			})})
			var err error
			taken := allocated(func() { _, err = c.Get(t.Context(), fetch.Request{URL: "https://bomb.example/", MaxBytes: 64 << 10}) })
			if !errors.Is(err, fetch.ErrTooLarge) {
				t.Errorf("Get = %v, want %v", err, fetch.ErrTooLarge)
			}
			if taken > 2<<20 {
				t.Errorf("%d bytes were allocated", taken)
			}
			if n := c.Stats().Wire; n > 129<<10 {
				t.Errorf("%d bytes were read", n)
			}
		})
	}
}

// The limit of a request cannot exceed the client's. Answers under another limit are separate.
func TestMaxBytes(t *testing.T) {
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "1234567890") })
	c := newClient(t, fetch.Config{AllowPrivate: true, MaxBytes: 10})
	get(t, c, fetch.Request{URL: o.URL, MaxBytes: 1000})
	if _, err := c.Get(t.Context(), fetch.Request{URL: o.URL, MaxBytes: 9}); !errors.Is(err, fetch.ErrTooLarge) {
		t.Errorf("Get = %v, want %v", err, fetch.ErrTooLarge)
	}
	small := newClient(t, fetch.Config{AllowPrivate: true, MaxBytes: 9})
	if _, err := small.Get(t.Context(), fetch.Request{URL: o.URL, MaxBytes: 1000}); !errors.Is(err, fetch.ErrTooLarge) {
		t.Errorf("Get = %v, want %v", err, fetch.ErrTooLarge)
	}
}

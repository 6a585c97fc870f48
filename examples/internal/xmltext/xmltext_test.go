package xmltext_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/twofold-go/twofold/examples/internal/xmltext"
)

func clean(t *testing.T, s string) string {
	t.Helper()
	b, err := io.ReadAll(xmltext.Clean(strings.NewReader(s)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"":                                    "",
		"<a>é 咖啡 😀</a>\r\n\t":                 "<a>é 咖啡 😀</a>\r\n\t",
		"a\x00\x08\x0b\x1f\x7fb":              "a\x7fb",
		"a\uFFFE\uFFFFb":                      "ab",
		"a\xffb\xc3":                          "a\uFFFDb\uFFFD",
		"a&#8;&#29;&#11;&#x1C;b":              "ab",
		"a&#X1c;&#xFFFE;&#xD800;b":            "ab",
		"a&#0;&#00008;&#x110000;b":            "ab",
		"a&#99999999999999999999;b":           "ab",
		"&#9;&#x1F600;&#38;":                  "&#9;&#x1F600;&#38;",
		"&amp;#8; & &nbsp; &# &#x;":           "&amp;#8; & &nbsp; &# ",
		"&#8 and &#8":                         "&#8 and &#8",
		"&":                                   "&",
		"&#" + strings.Repeat("0", 50) + "8;": "&amp;#" + strings.Repeat("0", 50) + "8;",
	} {
		if got := clean(t, in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
		b, err := io.ReadAll(xmltext.Clean(iotest.OneByteReader(strings.NewReader(in))))
		if err != nil || string(b) != want {
			t.Errorf("Clean(%q), byte by byte, = %q, %v; want %q", in, b, err, want)
		}
	}
	long := strings.Repeat("ab&#8;é&amp;", 10_000) // longer than every buffer
	if got, want := clean(t, long), strings.ReplaceAll(long, "&#8;", ""); got != want {
		t.Errorf("Clean of %d bytes = %d bytes, want %d", len(long), len(got), len(want))
	}
}

func TestText(t *testing.T) {
	if got := xmltext.Text("a\x00\uFFFE&#8;\xff\n咖"); got != "a&#8;\uFFFD\n咖" {
		t.Errorf("Text = %q", got)
	}
}

// tokens counts the tokens before the end of a text.
func tokens(r io.Reader, most int) (n int, err error) {
	d := xmltext.NewDecoder(xmltext.Clean(r), most)
	for {
		if _, err := d.Token(); err != nil {
			return n, err
		}
		n++
	}
}

func TestDecoderIsLenient(t *testing.T) {
	for name, doc := range map[string]string{
		"another charset": `<?xml version="1.0" encoding="x-unknown"?><a/>`, "control characters": "<a b='\x01&#1;'>\x02</a>",
		"ampersands": "<a>x&y=1 &nbsp; &z;</a>", "a tag that is not closed": "<a><b></a>",
	} {
		if n, err := tokens(strings.NewReader(doc), 100); !errors.Is(err, io.EOF) || n == 0 {
			t.Errorf("%s: %v after %d tokens, want the end", name, err, n)
		}
	}
}

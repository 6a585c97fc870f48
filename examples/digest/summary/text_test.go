package summary_test

import (
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/digest/summary"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a &amp; b &lt;c&gt;":                                 "a & b <c>",
		"<p>a</p><p>b <b>c</b>d</p>":                          "a\nb cd",
		"<ul><li>a<li>b</ul>":                                 "a\nb",
		"a<br/>b<br>c":                                        "a\nb\nc",
		"<script>x</script>a<style>y</style>":                 "a",
		"<noscript><p>x</p></noscript>a":                      "a",
		"<p>unclosed <a href='https://x.example'>link":        "unclosed link",
		"see https://evil.example/x?y=1 or www.evil.example.": "see or",
		"a\u00a0\u3000 b\t\tc":                                "a b c",
		"a\u202eb\u200bc\x00d":                                "abcd",
		"x < y and y > z":                                     "x < y and y > z",
	} {
		if got := summary.Plain(in); got != want {
			t.Errorf("Plain(%q) = %q, want %q", in, got, want)
		}
	}
	if got := summary.Plain(strings.Repeat("é", 30_000)); len(got) > 20_000 || !strings.HasSuffix(got, "é") {
		t.Errorf("a long text becomes %d bytes that end in %q", len(got), got[max(0, len(got)-3):])
	}
}

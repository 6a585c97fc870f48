package summary_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/summary"
)

func TestSentences(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"plain", "One is here. Two is there! Is three? Yes.", []string{"One is here.", "Two is there!", "Is three?", "Yes."}},
		{"titles", "Dr. Ann Lee met Mr. Smith. They left.", []string{"Dr. Ann Lee met Mr. Smith.", "They left."}},
		{"initials", "J. R. Doe wrote it. It sold.", []string{"J. R. Doe wrote it.", "It sold."}},
		{"abbreviations", "It costs approx. 5 dollars, e.g. in Rome. Fine.", []string{"It costs approx. 5 dollars, e.g. in Rome.", "Fine."}},
		{"decimals", "Rates rose 0.5 percent. Then 1.25.", []string{"Rates rose 0.5 percent.", "Then 1.25."}},
		{"quotes", `He said "No." She left.`, []string{`He said "No."`, "She left."}},
		{"Chinese", "今天下雨。明天呢？不知道！好", []string{"今天下雨。", "明天呢？", "不知道！", "好"}},
		{"both", "Go 发布了。It is fast. 很快。", []string{"Go 发布了。", "It is fast.", "很快。"}},
		{"lines", "A heading\nThe text begins.", []string{"A heading", "The text begins."}},
		{"none", " \n ", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, summary.Sentences(tt.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

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

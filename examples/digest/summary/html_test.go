package summary_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/twofold-go/twofold/examples/digest/summary"
)

func TestHTML(t *testing.T) {
	for in, want := range map[string]string{
		"# One\n\n- [a](https://a.example/x?b=1&c=2) — *b*": "<h1>One</h1>\n<ul>\n<li><a href=\"https://a.example/x?b=1&amp;c=2\" rel=\"nofollow noreferrer\">a</a> — <em>b</em></li>\n</ul>\n",
		"每日摘要":                "<p>每日摘要</p>\n",
		"| a |\n|---|\n| b |": "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>b</td>\n</tr>\n</tbody>\n</table>\n",
	} {
		if got, err := summary.HTML(in); err != nil || string(got) != want {
			t.Errorf("HTML(%q) = %q, %v\nwant %q", in, got, err, want)
		}
	}
}

// Attacks try to get a script into a page through a digest.
var attacks = []string{
	"<script>alert(1)</script>", "a <img src=x onerror=alert(1)> b", "[x](javascript:alert(1))", "[x](JaVaScRiPt&#58;alert(1))",
	"[x](data:text/html;base64,PHNjcmlwdD4=)", "![x](javascript:alert(1))", "![x](https://tracker.example/p.gif)", "<javascript:alert(1)>",
	"[x]: javascript:alert(1)\n\n[x]", "<a href=\"https://a.example\" onclick=\"alert(1)\">x</a>", "<iframe src=\"https://a.example\"></iframe>",
	"<svg/onload=alert(1)>", "<style>*{display:none}</style>", "```\"onmouseover=\"alert(1)\nx\n```", "[x](https://a.example \"\\\" onmouseover=alert(1) \\\"\")",
	"[x](//evil.example)", "[x](/admin/delete)", "<form action=https://evil.example><input name=key>", "<base href=https://evil.example>",
	"<meta http-equiv=refresh content=0>", "[x](vbscript:x)", "[a](https://a.example/\"><script>alert(1)</script>)",
}

func TestHTMLNeutralises(t *testing.T) {
	for _, in := range attacks {
		wantHarmless(t, in)
	}
}

// wantHarmless parses the page as a browser does.
func wantHarmless(t interface {
	Helper()
	Errorf(format string, args ...any)
}, in string,
) {
	t.Helper()
	out, err := summary.HTML(in)
	if err != nil {
		t.Errorf("HTML(%q) = %v", in, err)
	}
	z := html.NewTokenizer(strings.NewReader(string(out)))
	for z.Next() != html.ErrorToken {
		token := z.Token()
		if token.Type != html.StartTagToken && token.Type != html.SelfClosingTagToken {
			continue
		}
		if strings.Contains(" script img iframe svg style form input base meta link object embed ", " "+token.Data+" ") {
			t.Errorf("HTML(%q) = %q, which has a %s", in, out, token.Data)
		}
		for _, a := range token.Attr {
			if a.Key == "rel" || a.Key == "href" && (strings.HasPrefix(a.Val, "https://") || strings.HasPrefix(a.Val, "http://")) {
				continue
			}
			t.Errorf("HTML(%q) = %q, which has %s=%q", in, out, a.Key, a.Val)
		}
	}
}

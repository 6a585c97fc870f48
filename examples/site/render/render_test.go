package render_test

import (
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/site/render"
)

func TestMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"# One\n\n*two* `three`":      "<h1>One</h1>\n<p><em>two</em> <code>three</code></p>\n",
		"```go\nx < y\n```":           "<pre><code class=\"language-go\">x &lt; y\n</code></pre>\n",
		"[a](/pages/about) <b>x</b>":  "<p><a href=\"/pages/about\" rel=\"nofollow\">a</a> x</p>\n",
		"| a |\n|---|\n| b |":         "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>b</td>\n</tr>\n</tbody>\n</table>\n",
		"![x](https://a.example/b.c)": "<p><img src=\"https://a.example/b.c\" alt=\"x\"></p>\n",
	} {
		got, err := render.Markdown(in)
		if err != nil || string(got) != want {
			t.Errorf("Markdown(%q) = %q, %v\nwant %q", in, got, err, want)
		}
	}
}

// Attacks try to get a script into a page through its Markdown.
var attacks = []string{
	"<script>alert(1)</script>",
	"a <img src=x onerror=alert(1)> b",
	"[x](javascript:alert(1))",
	"[x](JaVaScRiPt&#58;alert(1))",
	"[x](data:text/html;base64,PHNjcmlwdD4=)",
	"![x](javascript:alert(1))",
	"<javascript:alert(1)>",
	"[x]: javascript:alert(1)\n\n[x]",
	"<a href=\"https://a.example\" onclick=\"alert(1)\">x</a>",
	"<iframe src=\"https://a.example\"></iframe>",
	"<svg/onload=alert(1)>",
	"<style>*{display:none}</style>",
	"```\"onmouseover=\"alert(1)\nx\n```",
	"[x](https://a.example \"\\\" onmouseover=alert(1) \\\"\")",
}

func TestMarkdownNeutralises(t *testing.T) {
	for _, in := range attacks {
		out, err := render.Markdown(in)
		if err != nil {
			t.Fatal(err)
		}
		// The remaining text is harmless, so only tags count.
		for tag := range strings.SplitSeq(string(out), "<") {
			tag, _, _ = strings.Cut(strings.ToLower(tag), ">")
			for _, bad := range []string{"script", "iframe", "style", "svg", " on", "data:", "javascript:"} {
				if name, attrs, _ := strings.Cut(tag, " "); strings.Contains(name, bad) || strings.Contains(unquote(attrs), bad) {
					t.Errorf("Markdown(%q) = %q", in, out)
				}
			}
		}
	}
}

// unquote removes the values of title and alt, which are text, from attributes.
func unquote(attrs string) string {
	for _, name := range []string{`title="`, `alt="`} {
		if before, after, ok := strings.Cut(attrs, name); ok {
			_, after, _ = strings.Cut(after, `"`)
			attrs = before + after
		}
	}
	return " " + attrs
}

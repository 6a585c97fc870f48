package page_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/twofold-go/twofold/examples/rsstracker/page"
)

func day(d int) time.Time { return time.Date(2026, time.March, d, 0, 0, 0, 0, time.UTC) }

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		html string
		want page.Meta
	}{
		"plain": {`<title> A &amp;
			B </title><meta name="Description" content="About  it."><meta name=date content=2026-03-01>`,
			page.Meta{Title: "A & B", Description: "About it.", Published: day(1)}},
		"open graph first": {`<title>A | Site</title><meta property="og:title" content="A"><meta name=description content=no><meta property="og:description" content=D>
			<meta property="article:published_time" content="2026-03-01T08:00:00+08:00">`,
			page.Meta{Title: "A", Description: "D", Published: day(1)}},
		"empty ones are passed": {`<meta property="og:title" content=" "><meta property="og:title" content="A"><title>no</title>`, page.Meta{Title: "A"}},
		"bad dates are passed":  {`<title>A</title><meta property="article:published_time" content="soon"><meta name=date content=2026-03-01>`, page.Meta{Title: "A", Published: day(1)}},
		"time element":          {`<title>A</title><time itemprop="datePublished" datetime="2026-03-01">`, page.Meta{Title: "A", Published: day(1)}},
		"title of a drawing":    {`<body><svg><title>no</title></svg><h1>A</h1>`, page.Meta{Title: "A"}},
		"nothing":               {`<p>Text.`, page.Meta{}},
		"control characters":    {"<title>A\x01\x08 B\x00</title>", page.Meta{Title: "A B"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := page.Parse([]byte(tc.html), "text/html")
			if err != nil || len(got.Hash) != 64 {
				t.Fatalf("Parse = %+v, %v", got, err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(page.Meta{}, "Hash")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCharsets(t *testing.T) {
	for name, tc := range map[string]struct{ body, contentType string }{
		"declared by the server": {"<title>caf\xe9</title>", "text/html; charset=iso-8859-1"},
		"declared by the page":   {"<meta charset=windows-1252><title>caf\xe9</title>", "text/html"},
		"UTF-8":                  {"<title>café</title>", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := page.Parse([]byte(tc.body), tc.contentType); err != nil || got.Title != "café" {
				t.Errorf("title %q, %v; want café", got.Title, err)
			}
		})
	}
}

func TestNotHTML(t *testing.T) {
	for contentType, body := range map[string]string{"application/pdf": "<title>A</title>", "": "%PDF-1.7", "text/plain": "<title>"} {
		if _, err := page.Parse([]byte(body), contentType); !errors.Is(err, page.ErrNotHTML) {
			t.Errorf("%q: %v, want ErrNotHTML", contentType, err)
		}
	}
}

// TestHash lists what counts as a change of a page, and what does not.
func TestHash(t *testing.T) {
	hash := func(html string) string {
		t.Helper()
		m, err := page.Parse([]byte(html), "text/html")
		if err != nil {
			t.Fatal(err)
		}
		return m.Hash
	}
	const html = `<title>A</title><body><nav>Menu 1</nav><article>Text one.</article><aside>Ad 1</aside><script>var built=1</script></body>`
	for _, same := range []string{
		strings.ReplaceAll(html, "1", "2"),                    // the menu, an advertisement, a script
		strings.ReplaceAll(html, "Text one.", "Text\n one. "), // white space
	} {
		if hash(html) != hash(same) {
			t.Errorf("%s counts as changed", same)
		}
	}
	for _, other := range []string{strings.ReplaceAll(html, "one", "two"), strings.ReplaceAll(html, ">A<", ">B<")} {
		if hash(html) == hash(other) {
			t.Errorf("%s does not count as changed", other)
		}
	}
	if body := `<body><header>1</header>Text<footer>1</footer>`; hash(body) != hash(strings.ReplaceAll(body, "1", "2")) {
		t.Error("a footer counts")
	}
}

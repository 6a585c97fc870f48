package summary_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/digest/summary"
)

var linked = []summary.Item{
	{URL: "https://a.example/one"}, {URL: "https://b.example/two?id=2&utm_source=feed"}, {URL: "http://c.example/x_(y)"},
	{URL: "ftp://d.example/"}, {URL: "javascript:alert(1)"}, {},
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		dropped        int
	}{
		{"an item's", "[one](https://a.example/one) x", "[one](https://a.example/one) x", 0},
		{"made up", "[two](https://evil.example/) x", "two x", 1},
		{"nearly", "[one](http://www.A.example/one/#top) x", "[one](https://a.example/one) x", 0},
		{"without the tracker", "[two](https://b.example/two?id=2)", "[two](https://b.example/two?id=2&utm_source=feed)", 0},
		{"of another page", "[two](https://b.example/two?id=3)", "two", 1},
		{"truncated", "[two](https://b.example/tw)", "two", 1},
		{"with parentheses", "[x](http://c.example/x_(y))", "[x](http://c.example/x_%28y%29)", 0},
		{"with a title", `[one](https://a.example/one "buy") x`, "[one](https://a.example/one) x", 0},
		{"in angles", "[one](<https://a.example/one>)", "[one](https://a.example/one)", 0},
		{"an item that is no page", "[x](ftp://d.example/) [y](javascript:alert(1))", "x y", 2},
		{"bare", "see https://a.example/one. And https://evil.example/one.", "see <https://a.example/one>. And .", 1},
		{"bare in Chinese", "见 <https://a.example/one>。", "见 <https://a.example/one>。", 0},
		{"bare and emphasised", "_https://evil.example/x_ and *https://evil.example* _https://a.example/one_ x", "__ and ** _<https://a.example/one>_ x", 2},
		{"www", "see www.evil.example now", "see  now", 1},
		{"automatic", "<https://a.example/one> <https://evil.example> <me@evil.example>", `<https://a.example/one>  \<me@evil.example>`, 1},
		{"by reference", "[one][1] [two][2]\n\n[1]: https://a.example/one\n[2]: https://evil.example", "[one][1] [two][2]\n\n[1]: <https://a.example/one>\n[2]:", 1},
		{"an image", "![x](https://a.example/one) y", "x y", 1},
		{"an image in a link", "[![x](https://evil.example/p.gif)](https://a.example/one)", "[x](https://a.example/one)", 1},
		{"an address for words", "[https://a.example/one](https://a.example/one)", "[a.example/one](https://a.example/one)", 0},
		{"another address for words", "[https://evil.example](https://a.example/one)", "[a.example/one](https://a.example/one)", 0},
		{"HTML", `<a href="https://evil.example">x</a> <img src=x> y`, `\<a href="">x\</a> \<img src=x> y`, 1},
		{"a mail address", "write to me@a.example", "write to me@a.example", 0},
		{"thoughts", "<think>\nThe user wants https://a.example/one.\n</think>\n\n# News", "# News", 0},
		{"thoughts, by another name", " <Thinking>x</Thinking># News", "# News", 0},
		{"thoughts without a beginning", "The user wants news.\n</think>\n\n# News", "# News", 0},
		{"a text about thoughts", "# News\n\nUse `<think>` and </think>, they say", "# News\n\nUse `\\<think>` and \\</think>, they say", 0},
		{"less than", "1 < 2 and 3 > 2", "1 < 2 and 3 > 2", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := summary.Check(tt.in, linked)
			if err != nil || strings.TrimSuffix(got.Markdown, "\n") != tt.want || got.Dropped != tt.dropped {
				t.Errorf("Check(%q) = %q, %d dropped, %v\nwant %q, %d", tt.in, got.Markdown, got.Dropped, err, tt.want, tt.dropped)
			}
		})
	}
	for _, in := range []string{"", " \n\t ", "---", "[](https://evil.example)", "![](https://a.example/one)", "<think>\nThe user wants", "<think>x</think>\n"} {
		if _, err := summary.Check(in, linked); !errors.Is(err, summary.ErrEmpty) {
			t.Errorf("Check(%q) = %v, want %v", in, err, summary.ErrEmpty)
		}
	}
}

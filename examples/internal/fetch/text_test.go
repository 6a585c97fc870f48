package fetch_test

import (
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"golang.org/x/text/encoding"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

func in(t *testing.T, e encoding.Encoding, text string) string {
	t.Helper()
	s, err := e.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestText(t *testing.T) {
	latin, wide := charmap.ISO8859_1, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	big := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	const feed = "<rss><title>café – 咖啡</title></rss>"
	for _, tt := range []struct{ name, body, contentType, want string }{
		{"nothing", "", "", ""},
		{"UTF-8 without a word", feed, "", feed},
		{"a mark beats the header", "\ufeff" + feed, "text/xml; charset=iso-8859-1", feed},
		{"UTF-16 little", "\xff\xfe" + in(t, wide, feed), "", feed},
		{"UTF-16 big, whatever the header says", "\xfe\xff" + in(t, big, feed), "text/xml; charset=utf-8", feed},
		{"the header", in(t, latin, "café"), "text/plain; charset=ISO-8859-1", "café"},
		{"the header beats the declaration", `<?xml version="1.0" encoding="utf-8"?>` + in(t, latin, "café"), "text/xml; charset=iso-8859-1", `<?xml version="1.0" encoding="utf-8"?>café`},
		{"a header that nobody knows", feed, "text/xml; charset=utf8mb4", feed},
		{"the declaration", `<?xml version="1.0" encoding="ISO-8859-1"?>` + in(t, latin, "<a>é</a>"), "application/xml", `<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>`},
		{"the declaration, other quotes", "\n<?xml version='1.0' encoding = 'gb2312' ?>" + in(t, simplifiedchinese.GBK, "<a>咖啡</a>"), "", "\n<?xml version='1.0' encoding = 'gb2312' ?><a>咖啡</a>"},
		{"a declaration that nobody knows", `<?xml version="1.0" encoding="x-foo"?><a>é</a>`, "", `<?xml version="1.0" encoding="x-foo"?><a>é</a>`},
		{"a declaration that lies", `<?xml version="1.0" encoding="utf-16"?><a>é</a>`, "", `<?xml version="1.0" encoding="utf-16"?><a>é</a>`},
		{"a meta element", `<html><meta charset="gbk">` + in(t, simplifiedchinese.GBK, "咖啡"), "text/html", `<html><meta charset="gbk">咖啡`},
		{"a meta element that lies", `<meta charset="iso-8859-1">café`, "text/html", `<meta charset="iso-8859-1">café`},
		{"Japanese in seven bits", `<meta charset="iso-2022-jp">` + in(t, japanese.ISO2022JP, "珈琲"), "text/html", `<meta charset="iso-2022-jp">珈琲`},
		{"one bad byte among UTF-8", "<a>café – 咖啡 \xff</a>", "", "<a>café – 咖啡 \uFFFD</a>"},
		{"nothing but bytes", "caf\xe9 \x93x\x94", "", "café “x”"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := []byte(tt.body)
			got, err := fetch.Text(body, tt.contentType)
			if err != nil || string(got) != tt.want {
				t.Errorf("Text = %q, %v; want %q", got, err, tt.want)
			}
			if string(body) != tt.body {
				t.Error("the body was changed")
			}
		})
	}
}

package fetch

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/temoto/robotstxt"
)

// temoto/robotstxt groups, orders and matches rules. It also refuses a whole file
// for one bad line, does not compare encodings of a path, takes any product token
// that ours begins with for ours, ignores "Disallow: *", and lets a pattern match
// in the middle of a path. A robots.txt that hundreds of hands have written needs
// the opposite, so it gets a tidy one: lines it understands, agents reduced to me,
// * and other, paths in one spelling, each beginning with a mark that no path
// holds elsewhere.

const (
	me    = "me"
	other = "other"
)

// maxCrawlDelay bounds what a robots.txt may ask for.
const maxCrawlDelay = time.Minute

// readRobots reads a robots.txt for whom userAgent names.
func readRobots(body []byte, userAgent string) (*Robots, error) {
	data, err := robotstxt.FromBytes(tidy(body, token(userAgent)))
	if err != nil { // the lines are ours
		return &Robots{}, errors.Join(ErrProtocol, err)
	}
	g := data.FindGroup(me)
	return &Robots{Sitemaps: data.Sitemaps, CrawlDelay: g.CrawlDelay, group: g}, nil
}

// tidy returns the lines of a robots.txt that say something, in one spelling.
func tidy(body []byte, token string) []byte {
	var out bytes.Buffer
	line := func(name, value string) {
		out.WriteString(name + ": " + value + "\n")
	}
	grouped := false // rules before the first User-agent are nobody's
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	for raw := range strings.FieldsFuncSeq(string(body), func(r rune) bool { return r == '\n' || r == '\r' }) {
		raw, _, _ = strings.Cut(raw, "#")
		name, value, ok := strings.Cut(raw, ":")
		value = strings.TrimSpace(value)
		if !ok {
			continue
		}
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case "user-agent", "useragent":
			grouped = true
			line("user-agent", agent(value, token))
		case "allow", "disallow":
			if grouped {
				line(rule(name, value))
			}
		case "crawl-delay":
			if s, err := strconv.ParseFloat(value, 64); grouped && err == nil && s >= 0 { // false for NaN
				line(name, strconv.FormatFloat(min(s, maxCrawlDelay.Seconds()), 'f', 3, 64))
			}
		case "sitemap":
			if value != "" && !strings.ContainsAny(value, " \t\v") {
				line(name, value)
			}
		}
	}
	return out.Bytes()
}

// agent reduces a User-agent line to whether it is about us. Versions in it are
// left aside: RFC 9309 has none.
func agent(value, name string) string {
	switch {
	case strings.HasPrefix(value, "*"):
		return "*"
	case strings.EqualFold(token(value), name):
		return me
	}
	return other
}

// rule returns a rule with its path in normal form. An empty one says nothing, but
// its group is there all the same: it becomes the weakest Allow.
func rule(name, path string) (string, string) {
	if path == "" {
		return "allow", mark
	}
	if path[0] != '/' && path[0] != '*' {
		path = "/" + path
	}
	return name, marked(normal(path, true))
}

// mark begins every path; "<" is percent-encoded in all that normal returns.
const mark = "/<"

func marked(path string) string { return mark + path }

// normal returns a path in the form of RFC 9309, section 2.2.2, in which paths are
// compared: what need not be percent-encoded is not, and everything else is. In a
// rule, "*" and a "$" at its end keep their meaning.
func normal(path string, isRule bool) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c := path[i]
		special := isRule && (c == '*' || c == '$' && i == len(path)-1)
		if c == '%' && i+2 < len(path) {
			if n, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil {
				c, i = byte(n), i+2
				writeEscaped(&b, c, !unreserved(c))
				continue
			}
		}
		writeEscaped(&b, c, !special && !plainInPath(c))
	}
	return b.String()
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// plainInPath reports whether a byte that is not percent-encoded stays so.
func plainInPath(c byte) bool {
	return unreserved(c) || strings.IndexByte("/?:@!&'()+,;=", c) >= 0
}

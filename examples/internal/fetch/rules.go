package fetch

import (
	"net/url"
	"strings"
	"time"

	"github.com/temoto/robotstxt"
)

// Robots are the rules of an origin's robots.txt for this client. The zero value allows nothing.
type Robots struct {
	Sitemaps   []string      // the URLs of its Sitemap lines, unchanged. They apply to all clients, and may name any host
	CrawlDelay time.Duration // pause between two requests, at most a minute. Zero means not given

	group *robotstxt.Group
}

const maxCrawlDelay = time.Minute

// Allowed reports whether this client may get a URL. The parser forbids a little more than RFC 9309:
// a rule with a star matches within a path, and of two equally long rules the first one wins.
func (r *Robots) Allowed(rawURL string) bool {
	u, err := url.Parse(rawURL)
	if err != nil || r.group == nil {
		return false
	}
	return u.Path == "/robots.txt" || r.group.Test(unescaped(u.RequestURI()))
}

// unescaped makes the spellings of a path equal: a file may write "/caf%C3%A9" or "/café".
func unescaped(path string) string {
	if d, err := url.PathUnescape(path); err == nil && !strings.ContainsAny(d, "\r\n#") {
		return d
	}
	return path
}

// readRobots gives the parser one line at a time, because it refuses a file for one bad line.
func readRobots(body []byte, agent string) *Robots {
	var file strings.Builder
	file.WriteString("User-agent: nobody\n") // for rules before the first group
	lineEnd := func(r rune) bool { return r == '\n' || r == '\r' }
	for line := range strings.FieldsFuncSeq(strings.TrimPrefix(string(body), "\ufeff"), lineEnd) {
		line, _, _ = strings.Cut(line, "#")
		field, value, _ := strings.Cut(line, ":")
		field, value = strings.ToLower(strings.TrimSpace(field)), strings.TrimSpace(value)
		if field == "allow" || field == "disallow" {
			switch value {
			case "": // the parser would join the group to the next one
				field, value = "allow", "/"
			case "*": // the parser ignores it
				value = "/"
			}
			value = unescaped(value)
		}
		line = field + ": " + value + "\n"
		if _, err := robotstxt.FromString("User-agent: *\n" + line); err == nil && value != "" {
			file.WriteString(line)
		}
	}
	data, err := robotstxt.FromString(file.String())
	if err != nil {
		return &Robots{} // does not happen
	}
	r := &Robots{Sitemaps: data.Sitemaps, group: data.FindGroup(agent)}
	if r.CrawlDelay = min(r.group.CrawlDelay, maxCrawlDelay); r.CrawlDelay < 0 { // too many seconds for a Duration
		r.CrawlDelay = maxCrawlDelay
	}
	return r
}

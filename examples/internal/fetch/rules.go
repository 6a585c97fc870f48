package fetch

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Robots are the rules of an origin's robots.txt for this client. The zero value allows nothing.
type Robots struct {
	Sitemaps   []string      // the URLs of its Sitemap lines, unchanged. They apply to all clients, and may name any host
	CrawlDelay time.Duration // pause between two requests, at most a minute. Zero means not given

	known bool
	rules []rule
}

type rule struct {
	path  string
	allow bool
}

const maxCrawlDelay = time.Minute

// Allowed reports whether this client may get a URL. The longest matching rule decides; of
// two equally long ones, Allow wins (RFC 9309, 2.2.2).
func (r *Robots) Allowed(rawURL string) bool {
	u, err := url.Parse(rawURL)
	if err != nil {
		return false
	}
	path := u.EscapedPath()
	if path == "/robots.txt" {
		return true
	}
	if u.RawQuery != "" || u.ForceQuery {
		path += "?" + u.RawQuery
	}
	path = normal(path)
	best := rule{allow: true}
	for _, l := range r.rules {
		if (len(l.path) > len(best.path) || len(l.path) == len(best.path) && l.allow) && matches(l.path, path) {
			best = l
		}
	}
	return r.known && best.allow
}

func matches(pattern, path string) bool {
	pattern, whole := strings.CutSuffix(pattern, "$")
	first, parts, starred := strings.Cut(pattern, "*")
	rest, ok := strings.CutPrefix(path, first)
	for starred && ok {
		var part string
		if part, parts, starred = strings.Cut(parts, "*"); !starred && whole {
			return strings.HasSuffix(rest, part)
		}
		_, rest, ok = strings.Cut(rest, part)
	}
	return ok && (!whole || rest == "")
}

// readRobots parses the lines that it knows, and skips others. It joins the groups for the
// same agent.
func readRobots(body []byte, name string) *Robots {
	var ours, all Robots
	var group []*Robots // the agents that the next lines are for
	heads := false      // whether the last line was a User-agent
	r := &Robots{known: true}
	lineEnd := func(r rune) bool { return r == '\n' || r == '\r' }
	for line := range strings.FieldsFuncSeq(strings.TrimPrefix(string(body), "\ufeff"), lineEnd) {
		line, _, _ = strings.Cut(line, "#")
		field, value, _ := strings.Cut(line, ":")
		field, value = strings.ToLower(strings.TrimSpace(field)), strings.TrimSpace(value)
		agent := field == "user-agent" || field == "useragent"
		switch {
		case agent && !heads:
			group = nil
			fallthrough
		case agent:
			if strings.HasPrefix(value, "*") {
				group = append(group, &all)
			} else if strings.EqualFold(token(value), name) {
				ours.known = true
				group = append(group, &ours)
			}
		case field == "sitemap" && value != "" && !strings.ContainsAny(value, " \t\v"):
			r.Sitemaps = append(r.Sitemaps, value)
		default:
			for _, g := range group {
				g.take(field, value)
			}
		}
		heads = agent || heads && field != "allow" && field != "disallow" && field != "crawl-delay"
	}
	if !ours.known {
		ours = all
	}
	r.rules, r.CrawlDelay = ours.rules, ours.CrawlDelay
	return r
}

// take adds a line of a group.
func (r *Robots) take(field, value string) {
	switch field {
	case "allow", "disallow":
		if value != "" && value[0] != '/' && value[0] != '*' {
			value = "/" + value
		}
		r.rules = append(r.rules, rule{pattern(value), field == "allow"})
	case "crawl-delay":
		if s, err := strconv.ParseFloat(value, 64); err == nil && s >= 0 { // false for NaN
			r.CrawlDelay = time.Duration(min(s, maxCrawlDelay.Seconds()) * float64(time.Second))
		}
	}
}

func pattern(path string) string {
	path, whole := strings.CutSuffix(path, "$")
	parts := strings.Split(path, "*")
	for i, part := range parts {
		parts[i] = normal(part)
	}
	path = strings.Join(parts, "*")
	if whole {
		path += "$"
	}
	return path
}

// normal returns a path in the form in which RFC 9309, 2.2.2 compares paths.
func normal(path string) string {
	plain := func(c byte) bool { return unreserved(c) || strings.IndexByte("/?:@!&'()+,;=", c) >= 0 }
	return Respell(path, plain, unreserved)
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

package service

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/twofold-go/twofold/examples/internal/xmltext"
	"github.com/twofold-go/twofold/examples/site/content"
)

// Lengths are in characters, except maxBody, which is in bytes.
const (
	maxLine    = 200
	maxExcerpt = 1000
	maxBody    = 256 << 10
	maxTags    = 10
	maxNav     = 50
	maxPerPage = 100
)

var slugPattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// InvalidError lists the invalid fields. Nothing was written.
type InvalidError struct{ Fields []FieldError }

// FieldError is an error about one field, by its JSON name.
type FieldError struct {
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

// Error names all invalid fields.
func (e *InvalidError) Error() string {
	texts := make([]string, 0, len(e.Fields))
	for _, f := range e.Fields {
		texts = append(texts, f.Field+": "+f.Reason)
	}
	return strings.Join(texts, "; ")
}

type check struct{ fields []FieldError }

func (c *check) err() error {
	if len(c.fields) == 0 {
		return nil
	}
	return &InvalidError{c.fields}
}

func (c *check) that(ok bool, field, format string, args ...any) {
	if !ok {
		c.fields = append(c.fields, FieldError{field, fmt.Sprintf(format, args...)})
	}
}

func (c *check) slug(field, s string) {
	c.that(len(s) <= content.MaxSlug && slugPattern.MatchString(s), field,
		"must be lower-case letters, digits and single hyphens between them, at most %d", content.MaxSlug)
}

// line requires one line of text. text allows several lines, and an empty text.
func (c *check) line(field, s string) { c.runes(field, s, maxLine, true, "") }
func (c *check) text(field, s string) { c.runes(field, s, maxExcerpt, false, "\n") }

func (c *check) body(s string) {
	c.that(len(s) <= maxBody, "body", "must have at most %d bytes", maxBody)
	c.runes("body", s, math.MaxInt, true, "\n\r\t")
}

func (c *check) runes(field, s string, most int, need bool, allowed string) {
	c.that(!need || strings.TrimSpace(s) != "", field, "is required")
	c.that(utf8.RuneCountInString(s) <= most, field, "must have at most %d characters", most)
	bad := func(r rune) bool {
		return !xmltext.Allowed(r) || unicode.IsControl(r) && !strings.ContainsRune(allowed, r)
	}
	c.that(utf8.ValidString(s) && !strings.ContainsFunc(s, bad), field, "must be UTF-8 without control characters and others that XML forbids")
}

// link checks a URL that readers will open. "//host" and "/\host" look like paths, but are not.
func (c *check) link(field, s string) {
	u, err := url.Parse(s)
	ok := err == nil && len(s) <= 1000 && !strings.ContainsAny(s, "\\ ") && xmltext.Text(s) == s
	if ok && u.Scheme == "" {
		ok = u.Host == "" && strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "//")
	} else if ok {
		ok = (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
	}
	c.that(ok, field, "must be a path that begins with a slash, or an http or https URL")
}

package summary

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// words are what a digest says itself, by language.
var words = map[string]struct {
	title map[string]string
	date  func(time.Time) string
	count string
	other string
}{
	English: {
		title: map[string]string{"4h": "The last four hours", "daily": "Daily digest", "weekly": "Weekly digest", "monthly": "Monthly digest"},
		date:  func(t time.Time) string { return t.Format("2 January 2006 15:04") },
		count: "%[1]d of %[2]d items, %[3]s to %[4]s",
		other: "Other",
	},
	Chinese: {
		title: map[string]string{"4h": "四小时速览", "daily": "每日摘要", "weekly": "每周摘要", "monthly": "每月摘要"},
		date:  func(t time.Time) string { return t.Format("2006年1月2日 15:04") },
		count: "%[2]d 条中的 %[1]d 条，%[3]s 至 %[4]s",
		other: "其他",
	},
}

// compose writes the digest: a heading per source, in the order in which they come up,
// and a line per entry.
func compose(r Request, picked []*entry) string {
	w := words[English]
	if r.Language == Chinese {
		w = words[Chinese]
	}
	title := w.title[r.Kind]
	if title == "" {
		title = r.Kind
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", escape(title))
	fmt.Fprintf(&b, "*"+w.count+"*\n", len(picked), len(r.Items), w.date(r.Start), w.date(r.End))
	var order []string
	bySource := map[string][]*entry{}
	for _, e := range picked {
		if bySource[e.Source] == nil {
			order = append(order, e.Source)
		}
		bySource[e.Source] = append(bySource[e.Source], e)
	}
	for _, source := range order {
		name := line(source)
		if name == "" {
			name = w.other
		}
		fmt.Fprintf(&b, "\n## %s\n\n", escape(name))
		for _, e := range bySource[source] {
			b.WriteString(e.line())
		}
	}
	return b.String()
}

// line is an entry of the list. One without a title is called by its first words.
func (e *entry) line() string {
	title, quotes := e.title, e.quotes
	if title == "" {
		title, quotes = e.said[0], nil
	}
	text := escape(shorten(title, 160))
	if to := destination(e.URL); to != "" {
		text = "[" + text + "](" + to + ")"
	}
	if len(quotes) == 0 {
		return "- " + text + "\n"
	}
	var b strings.Builder
	for _, q := range quotes {
		if last, _ := utf8.DecodeLastRuneInString(b.String()); b.Len() > 0 && last < 0x2e80 { // Chinese needs no space
			b.WriteByte(' ')
		}
		b.WriteString(escape(q))
	}
	return "- " + text + " — " + b.String() + "\n"
}

// marks mean something in Markdown, wherever on a line they stand. What means something
// at a line's beginning alone never stands there.
const marks = "\\`*_[]<>&#|~!$"

// escape returns text as Markdown that reads like it.
func escape(s string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(s, "\n", " ") {
		if strings.ContainsRune(marks, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// maxURL is the longest address that a digest links to, in bytes. Longer ones are data, and
// few servers take them; in a prompt they would use up what there is for the items.
const maxURL = 2000

// destination returns a URL as the destination of a Markdown link; empty: it is none
// that a digest links to.
func destination(s string) string {
	if len(s) > maxURL {
		return ""
	}
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	u.User = nil // a password is nobody's business
	return delimiters.Replace(u.String())
}

// delimiters would end a destination, or mean something in it.
var delimiters = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "\\", "%5C", " ", "%20", "\"", "%22")

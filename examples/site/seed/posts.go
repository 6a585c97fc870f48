package seed

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/twofold-go/twofold/examples/site/content"
)

// angles are what a title makes of the heading that it is about. A topic has not
// more posts than it has headings times angles, so no title comes twice.
var angles = map[content.Lang][]string{
	content.English: {"%s", "%s, once more", "%s, one year on", "%s: the details"},
	content.Chinese: {"%s", "再谈“%s”", "“%s”札记"},
}

// posts returns all posts, the oldest first: the topics take turns. The last one
// is scheduled, and the two before it are drafts.
func posts(topics []topic) []content.Post {
	var all []content.Post
	rounds := count[content.English]
	for round := range rounds {
		for i, t := range topics {
			n := round * count[t.lang] / rounds
			if n < (round+1)*count[t.lang]/rounds { // Chinese topics sit out some of the rounds
				all = append(all, t.post(n, topics[(i+1)%len(topics)]))
			}
		}
	}
	step := last.Sub(first) / time.Duration(len(all)-1)
	for i := range all {
		p := &all[i]
		p.Status = content.Published
		p.PublishedAt = first.Add(time.Duration(i) * step).Truncate(time.Minute)
		p.UpdatedAt = p.PublishedAt
		if i%9 == 4 { // some were gone over later
			p.UpdatedAt = p.PublishedAt.Add(50 * time.Hour)
		}
	}
	return append(all, unpublished(topics)...)
}

// unpublished returns posts that the public does not see yet.
func unpublished(topics []topic) []content.Post {
	out := make([]content.Post, 3)
	for i := range out {
		out[i] = topics[i].post(count[content.English], topics[i+1])
		out[i].Status, out[i].UpdatedAt = content.Draft, last
	}
	out[2].Status = content.Scheduled
	out[2].PublishedAt = time.Date(2040, time.January, 1, 9, 0, 0, 0, time.UTC)
	return out
}

// post returns the n-th post of the topic, with an aside from another one.
func (t topic) post(n int, aside topic) content.Post {
	lead := t.sections[n%len(t.sections)]
	title := capital(fmt.Sprintf(angles[t.lang][n/len(t.sections)], lead.heading))
	p := content.Post{Body: t.body(n, aside), Summary: content.Summary{
		Slug: t.slug(n, title), Title: title, Excerpt: firstSentence(lead.text), Lang: t.lang,
		Tags: t.tags[:1+n%3],
	}}
	if n%4 == 3 { // so that there is more than one set of each size
		p.Tags = []content.Tag{t.tags[0], t.tags[2]}
	}
	return p
}

// body returns an intro, the lead, some other sections, the aside and an outro.
func (t topic) body(n int, aside topic) string {
	var b strings.Builder
	b.WriteString(t.intros[n%len(t.intros)])
	most := len(t.sections)
	stride := 1 + n/most%2*(most-2) // forwards from the lead, or backwards
	for i := range min(4+n%3, most) {
		s := t.sections[(n+i*stride)%most]
		fmt.Fprintf(&b, "\n\n## %s\n\n%s", capital(s.heading), s.text)
	}
	if aside.lang == t.lang {
		s := aside.sections[(n*3+1)%len(aside.sections)]
		fmt.Fprintf(&b, "\n\n> **%s.** %s", capital(s.heading), strings.ReplaceAll(s.text, "\n", "\n> "))
	}
	b.WriteString("\n\n---\n\n" + t.outros[n/2%len(t.outros)] + "\n")
	return b.String()
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

func (t topic) slug(n int, title string) string {
	if t.lang == content.Chinese {
		return fmt.Sprintf("%s-%02d", t.tags[0].Slug, n+1)
	}
	return strings.Trim(notSlug.ReplaceAllString(strings.ToLower(title), "-"), "-")
}

// capital returns s with its first letter in upper case.
func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// firstSentence returns the first sentence of s.
func firstSentence(s string) string {
	for i, r := range s {
		if r == '。' {
			return s[:i+utf8.RuneLen(r)]
		}
		if r == '.' && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\n') {
			return s[:i+1]
		}
	}
	return s
}

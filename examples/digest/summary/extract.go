package summary

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Extractive writes digests from the beginnings of the items, offline and in English. It takes the newest
// item of each source, then the second newest of each, and so on.
type Extractive struct{}

// extractModel is the model name in the digests. Change it when the algorithm changes.
const extractModel = "extractive/3"

// NewExtractive returns the default summariser.
func NewExtractive() Extractive { return Extractive{} }

// Variant returns the zero Variant, which gives the digests the documented hashes.
func (Extractive) Variant() Variant { return Variant{} }

var styles = map[string]struct{ items, letters int }{Normal: {15, 300}, Brief: {7, 0}, Full: {40, 900}}

const maxTitle = 160

type entry struct{ source, title, url, text string }

// Summarise implements [Summariser].
func (Extractive) Summarise(ctx context.Context, r Request) (Summary, error) {
	if err := cmp.Or(r.Validate(), ctx.Err()); err != nil {
		return Summary{}, err
	}
	style, told := styles[r.Style], map[string]bool{}
	var picked []entry
	for _, it := range inTurn(r.Items) {
		e := entry{source: line(it.Source), title: line(it.Title), url: destination(it.URL), text: line(it.Text)}
		if e.title == "" {
			e.title, e.text = e.text, ""
		}
		if style.letters == 0 {
			e.text = ""
		}
		if key := strings.ToLower(e.title); key != "" && !told[key] && len(picked) < style.items {
			told[key] = true
			e.title, e.text = shorten(e.title, maxTitle, utf8.RuneCountInString), shorten(e.text, style.letters, utf8.RuneCountInString)
			picked = append(picked, e)
		}
	}
	return Summary{Markdown: compose(r, picked), Model: extractModel, Items: len(r.Items)}, nil
}

func inTurn(items []Item) []Item {
	all := slices.Clone(items)
	slices.SortStableFunc(all, func(a, b Item) int { return b.Published.Compare(a.Published) })
	var sources []string
	bySource := map[string][]Item{}
	for _, it := range all {
		if bySource[it.Source] == nil {
			sources = append(sources, it.Source)
		}
		bySource[it.Source] = append(bySource[it.Source], it)
	}
	all = all[:0]
	for turn := 0; len(all) < len(items); turn++ {
		for _, s := range sources {
			if turn < len(bySource[s]) {
				all = append(all, bySource[s][turn])
			}
		}
	}
	return all
}

var titles = map[string]string{"4h": "The last four hours", "daily": "Daily digest", "weekly": "Weekly digest", "monthly": "Monthly digest"}

func compose(r Request, picked []entry) string {
	const date = "2 January 2006 15:04"
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", escape(cmp.Or(titles[r.Kind], r.Kind)))
	fmt.Fprintf(&b, "*%d of %d items, %s to %s*\n", len(picked), len(r.Items), r.Start.Format(date), r.End.Format(date))
	first := map[string]int{}
	for i, e := range picked {
		if _, ok := first[e.source]; !ok {
			first[e.source] = i
		}
	}
	slices.SortStableFunc(picked, func(a, b entry) int { return cmp.Compare(first[a.source], first[b.source]) })
	for i, e := range picked {
		if i == 0 || picked[i-1].source != e.source {
			fmt.Fprintf(&b, "\n## %s\n\n", escape(cmp.Or(e.source, "Other")))
		}
		text := escape(e.title)
		if e.url != "" {
			text = "[" + text + "](" + e.url + ")"
		}
		if e.text != "" {
			text += " — " + escape(e.text)
		}
		b.WriteString("- " + text + "\n")
	}
	return b.String()
}

// marks are the characters with a meaning anywhere on a line of Markdown.
const marks = "\\`*_[]<>&#|~!$"

func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(marks, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func shorten(s string, limit int, size func(string) int) string {
	if size(s) <= limit {
		return s
	}
	var b strings.Builder
	var word string
	for rest, state, n := s, -1, 1; len(rest) > 0; { // 1 for the ellipsis
		word, rest, state = uniseg.FirstWordInString(rest, state)
		if n += size(word); n > limit {
			break
		}
		b.WriteString(word)
	}
	return strings.TrimSpace(b.String()) + "…"
}

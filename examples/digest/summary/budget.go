package summary

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// told is an item as the model is told of it.
type told struct {
	Source  string `json:"source"`
	Title   string `json:"title"`
	Address string `json:"address,omitempty"`
	Text    string `json:"text,omitempty"`
}

const (
	perItem   = 400 // tokens of text at most, so that one long item does not use up the budget
	wrapping  = 30  // tokens for the names of fields and what quotes them
	leastText = 40  // tokens: less than that says nothing
)

// fit returns as many items as the budget of tokens has room for: from each source its
// newest, then from each its second, and so on. What does not fit whole is cut.
func fit(items []Item, budget int) (all []told) {
	for _, it := range inTurn(items) {
		t := told{Source: line(it.Source), Title: shorten(line(it.Title), 200), Address: destination(it.URL)}
		fixed := tokens(t.Source) + tokens(t.Title) + tokens(t.Address) + wrapping
		if fixed+leastText > budget {
			continue // a shorter one may fit: one item must not keep out the others
		}
		t.Text = cut(plain(it.Text), min(perItem, budget-fixed))
		budget -= fixed + tokens(t.Text)
		all = append(all, t)
	}
	return all
}

// inTurn orders items so that sources take turns, each with its newest first.
func inTurn(items []Item) []Item {
	newest := slices.Clone(items)
	slices.SortStableFunc(newest, func(a, b Item) int { return b.Published.Compare(a.Published) })
	turns := map[string]int{}
	turn := make([]int, len(newest))
	order := make([]int, len(newest))
	for i, it := range newest {
		turn[i], order[i] = turns[it.Source], i
		turns[it.Source]++
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(turn[a], turn[b]) })
	out := make([]Item, len(newest))
	for i, at := range order {
		out[i] = newest[at]
	}
	return out
}

// tokens guesses how many tokens a text has, rather too many than too few: four letters
// make one in English, and a Chinese character is one, sometimes two.
func tokens(s string) int {
	quarters := 3
	for _, r := range s {
		switch {
		case r < 0x80:
			quarters++
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			quarters += 5
		default:
			quarters += 2
		}
	}
	return quarters / 4
}

// cut returns the beginning of a text that has at most so many tokens.
func cut(s string, limit int) string {
	if tokens(s) <= limit {
		return s
	}
	var b strings.Builder
	var word string
	for used, state := 1, -1; len(s) > 0; { // one for what says that it is cut
		word, s, state = uniseg.FirstWordInString(s, state)
		if used += tokens(word); used > limit {
			break
		}
		b.WriteString(word)
	}
	return strings.TrimSpace(b.String()) + "…"
}

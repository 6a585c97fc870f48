package summary

import (
	"context"
	"slices"
	"strconv"
)

// extractVersion names the algorithm below. Whoever changes what it writes counts it up:
// digests of the old one are then not taken for digests of the new one.
const extractVersion = 1

// Extractive makes digests of sentences that the items themselves are made of. It needs
// no network, and the same request always gives the same text. The zero Extractive is
// ready to use.
//
// It is put together from what is known to work on news, all of it old: sentences are
// judged by the words they share with the whole of their text (Luhn, The Automatic
// Creation of Literature Abstracts, 1958), by the title and by their place (Edmundson,
// New Methods in Automatic Extracting, 1969); words by how few texts have them (Spärck
// Jones, 1972); items by how near they are to the middle of all (Radev et al.,
// Centroid-based Summarization of Multiple Documents, 2004); and what says the same as
// something that was picked already has to stand back (Carbonell and Goldstein, The Use
// of MMR, 1998), as does a source that has been picked from.
type Extractive struct{}

// NewExtractive returns the summariser that the program comes with.
func NewExtractive() Extractive { return Extractive{} }

// Variant is the zero Variant for the first version of the algorithm.
func (Extractive) Variant() Variant {
	if extractVersion == 1 {
		return Variant{}
	}
	return Variant{Model: extractModel}
}

// extractModel is what digests say of who wrote them.
var extractModel = "extractive/" + strconv.Itoa(extractVersion)

// Summarise implements [Summariser].
func (Extractive) Summarise(ctx context.Context, r Request) (Summary, error) {
	if err := r.Validate(); err != nil {
		return Summary{}, err
	}
	entries := prepare(r.Items)
	if err := ctx.Err(); err != nil {
		return Summary{}, err
	}
	style := styles[r.Style]
	picked := pick(entries, style.items)
	for _, e := range picked {
		e.choose(style.sentences)
	}
	return Summary{Markdown: compose(r, picked), Model: extractModel, Items: len(r.Items)}, nil
}

var styles = map[string]struct{ items, sentences int }{
	Normal: {15, 2}, Brief: {7, 0}, Full: {40, 3},
}

// entry is an item that is being looked at.
type entry struct {
	Item
	place    int // among the request's items
	title    string
	said     []string
	terms    []string
	vector   vector
	telling  map[string]float64
	score    float64
	likeness float64 // to whatever was picked
	quotes   []string
}

// What counts for how much.
const (
	titleWeight = 3    // a word of the title is worth so many of the text
	placeDecay  = 0.15 // how fast sentences lose weight further down
	newness     = 0.6  // of an item's rank: the rest is how unlike it is to those picked
	sameStory   = 0.45 // likeness from which on two items tell the same
	sameWords   = 0.55 // and two sentences
	another     = 0.75 // what a source's next item is worth to its last
	maxQuote    = 320  // characters of a sentence
)

func prepare(items []Item) []*entry {
	entries := make([]*entry, len(items))
	texts := make([][]string, len(items))
	for i, it := range items {
		e := &entry{Item: it, place: i, title: line(it.Title), said: sentences(plain(it.Text))}
		for range titleWeight {
			e.terms = append(e.terms, terms(e.title)...)
		}
		for _, s := range e.said {
			e.terms = append(e.terms, terms(s)...)
		}
		entries[i], texts[i] = e, e.terms
	}
	telling := idf(texts)
	var all []string
	for _, e := range entries {
		e.vector, e.telling = weigh(e.terms, telling), telling
		all = append(all, e.terms...)
	}
	centre := weigh(all, telling)
	for _, e := range entries {
		e.score = cosine(e.vector, centre)
	}
	return entries
}

// pick returns the best entries: near the middle of all, unlike each other, and from
// many sources.
func pick(entries []*entry, limit int) (picked []*entry) {
	left := slices.Clone(entries)
	from := map[string]int{}
	for len(picked) < limit {
		best, bestRank := -1, 0.0
		for i, e := range left {
			rank, ok := e.rank(from[e.Source])
			if ok && (best < 0 || rank > bestRank) { // the first of equals
				best, bestRank = i, rank
			}
		}
		if best < 0 {
			break
		}
		p := left[best]
		picked = append(picked, p)
		from[p.Source]++
		left = slices.Delete(left, best, best+1)
		for _, e := range left {
			e.likeness = max(e.likeness, cosine(e.vector, p.vector))
		}
	}
	return picked
}

// rank says how much an entry would add to those picked, so many of them from its
// source; false: nothing.
func (e *entry) rank(from int) (float64, bool) {
	if e.title == "" && len(e.said) == 0 || e.likeness >= sameStory {
		return 0, false
	}
	rank := newness*e.score + (1-newness)*(1-e.likeness)
	for range from {
		rank *= another
	}
	return rank, true
}

// choose picks the sentences to quote, and leaves them in their order.
func (e *entry) choose(n int) {
	type scored struct {
		place int
		score float64
		v     vector
	}
	var all []scored
	for i, s := range e.said {
		v := weigh(terms(s), e.telling)
		if len(v.terms) < 3 { // "Read more."
			continue
		}
		all = append(all, scored{i, cosine(v, e.vector) / (1 + placeDecay*float64(i)), v})
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	title := weigh(terms(e.title), e.telling)
	var places []int
	var chosen []vector
	for _, s := range all {
		if len(places) == n {
			break
		}
		if cosine(s.v, title) > 0.9 || slices.ContainsFunc(chosen, func(v vector) bool { return cosine(s.v, v) > sameWords }) {
			continue // says what the title or another sentence does
		}
		places, chosen = append(places, s.place), append(chosen, s.v)
	}
	slices.Sort(places)
	for _, p := range places {
		e.quotes = append(e.quotes, shorten(e.said[p], maxQuote))
	}
}

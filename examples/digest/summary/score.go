package summary

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// vector is how much each term weighs, by term in ascending order: sums of floats depend
// on the order of their parts, and the same items have to give the same digest.
type vector struct {
	terms   []string
	weights []float64
	norm    float64
}

// terms returns what a text is compared by: words in lower case but for the commonest,
// and pairs of neighbouring characters where a language does not part its words.
func terms(text string) (all []string) {
	text = strings.ToLower(text)
	var word, before string
	for state := -1; len(text) > 0; {
		word, text, state = uniseg.FirstWordInString(text, state)
		r := []rune(word)
		switch {
		case unicode.In(r[0], unicode.Han, unicode.Hiragana, unicode.Katakana):
			if before != "" {
				all = append(all, before+word)
			}
			before = word
			continue
		case (unicode.IsLetter(r[0]) || unicode.IsDigit(r[0])) && len(r) > 1 && !common[word]:
			all = append(all, word)
		}
		before = ""
	}
	return all
}

var common = wordSet(`a about after all also an and any are as at be been but by can could did do does for from
	had has have he her his how if in into is it its it's just like more most new no not now of on one only or other our
	out over said say she so some such than that the their them then there they this to up us was we were what when which
	who will with would you your`)

// idf returns how telling each term is (Spärck Jones, 1972): the fewer texts have it,
// the more.
func idf(texts [][]string) map[string]float64 {
	seen := map[string]float64{}
	for _, text := range texts {
		for _, t := range slices.Compact(slices.Sorted(slices.Values(text))) {
			seen[t]++
		}
	}
	for t, n := range seen {
		seen[t] = math.Log(1 + float64(len(texts))/n)
	}
	return seen
}

// weigh makes a vector of terms: how often, damped, times how telling.
func weigh(all []string, telling map[string]float64) (v vector) {
	counts := map[string]float64{}
	for _, t := range all {
		counts[t]++
	}
	for t := range counts {
		v.terms = append(v.terms, t)
	}
	slices.Sort(v.terms)
	for _, t := range v.terms {
		w := (1 + math.Log(counts[t])) * telling[t]
		v.weights = append(v.weights, w)
		v.norm += w * w
	}
	v.norm = math.Sqrt(v.norm)
	return v
}

// cosine returns how alike two vectors are, from 0 to 1.
func cosine(a, b vector) float64 {
	if a.norm == 0 || b.norm == 0 {
		return 0
	}
	var dot float64
	for i, j := 0, 0; i < len(a.terms) && j < len(b.terms); {
		switch strings.Compare(a.terms[i], b.terms[j]) {
		case 0:
			dot += a.weights[i] * b.weights[j]
			i++
			j++
		case -1:
			i++
		default:
			j++
		}
	}
	return dot / (a.norm * b.norm)
}

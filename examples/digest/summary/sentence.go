package summary

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// maxSentences is how many sentences of an item are looked at.
const maxSentences = 40

// sentences splits text by UAX #29. Its rules know no abbreviations and end a sentence
// after "Dr."; such pieces are put together again.
func sentences(text string) (all []string) {
	var part string
	for state := -1; len(text) > 0 && len(all) < maxSentences; {
		part, text, state = uniseg.FirstSentenceInString(text, state)
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if n := len(all); n > 0 && unfinished(all[n-1]) {
			all[n-1] += " " + part
			continue
		}
		all = append(all, part)
	}
	return all
}

// abbreviations end with a period that ends no sentence, as a rule.
var abbreviations = wordSet(`adm approx apr assn aug ave capt cf co col corp dec dept dr ed eds e.g eg est etal feb fig figs
	fr gen gov hon i.e ie inc jan jr jul jun lt ltd maj mar messrs mr mrs ms mt no nos nov oct op p pp ph.d prof pt rep
	rev sen sep sept sgt sr st univ v vol vs`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// unfinished reports whether a piece ends in an abbreviation or an initial.
func unfinished(s string) bool {
	s, dotted := strings.CutSuffix(s, ".")
	if !dotted {
		return false
	}
	last := s[strings.LastIndexAny(s, " (\"'")+1:]
	last = strings.TrimLeft(last, "“‘«")
	r, size := utf8.DecodeRuneInString(last)
	if size == len(last) && unicode.IsUpper(r) { // J. Doe, and not "plan B." too often
		return true
	}
	return abbreviations[strings.ToLower(last)]
}

// shorten cuts a sentence that is too long behind a word.
func shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	var b strings.Builder
	rest, state, n := s, -1, 0
	for len(rest) > 0 {
		var word string
		word, rest, state = uniseg.FirstWordInString(rest, state)
		if n += utf8.RuneCountInString(word); n >= limit {
			break
		}
		b.WriteString(word)
	}
	return strings.TrimSpace(b.String()) + "…"
}

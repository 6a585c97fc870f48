package newsroom

import (
	"embed"
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed text
var texts embed.FS

// topic is a file of stories and of the words that fill them.
type topic struct {
	lang    string // by the file's name: "en" or "zh"
	words   map[string][]string
	stories []story
}

// story is a text with gaps: {name} takes one of the words of that name, {2-9} a number
// in that range. What stands in the same braces is the same throughout a story.
type story struct{ title, body string }

// readTopics reads all topics, by the names of their files.
func readTopics() (map[string]topic, error) {
	files, err := texts.ReadDir("text")
	if err != nil {
		return nil, err
	}
	topics := map[string]topic{}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".txt")
		lang, _, ok := strings.Cut(name, "-")
		if !ok {
			continue // not stories
		}
		b, err := texts.ReadFile(path.Join("text", f.Name()))
		if err != nil {
			return nil, err
		}
		if topics[name], err = parseTopic(lang, string(b)); err != nil {
			return nil, fmt.Errorf("newsroom: %s: %w", f.Name(), err)
		}
	}
	return topics, nil
}

// parseTopic reads lines of "name: word | word", then stories, each after a line of
// "== title".
func parseTopic(lang, text string) (topic, error) {
	t := topic{lang: lang, words: map[string][]string{}}
	head, stories, _ := strings.Cut(text, "\n== ")
	for line := range strings.Lines(head) {
		name, words, _ := strings.Cut(strings.TrimSpace(line), ": ")
		t.words[name] = strings.Split(words, " | ")
	}
	for s := range strings.SplitSeq(stories, "\n== ") {
		title, body, _ := strings.Cut(s, "\n")
		t.stories = append(t.stories, story{title, strings.TrimSpace(body)})
		for _, gap := range gaps.FindAllStringSubmatch(s, -1) {
			if gap[2] == "" && t.words[gap[1]] == nil {
				return t, fmt.Errorf("there are no words for %s", gap[0])
			}
		}
	}
	return t, nil
}

// gaps are {name}, {name.2} for another word of the same kind, and {2-9}.
var gaps = regexp.MustCompile(`\{(?:([a-z]+)(?:\.\d)?|(\d+)-(\d+))\}`)

// tell returns a story with its gaps filled.
func (t topic) tell(dice *rand.Rand) (title, body string) {
	s := t.stories[dice.IntN(len(t.stories))]
	filled := map[string]string{}
	fill := func(gap string) string {
		word, ok := filled[gap]
		if !ok {
			word = t.fill(dice, gaps.FindStringSubmatch(gap), filled)
			filled[gap] = word
		}
		return word
	}
	title = gaps.ReplaceAllStringFunc(s.title, fill)
	body = gaps.ReplaceAllStringFunc(s.body, fill)
	return capital(title), capitals.ReplaceAllStringFunc(capital(body), strings.ToUpper)
}

// fill returns a word for a gap that none of the filled ones is.
func (t topic) fill(dice *rand.Rand, gap []string, filled map[string]string) string {
	if gap[2] != "" {
		low, _ := strconv.Atoi(gap[2]) // digits, by the expression
		high, _ := strconv.Atoi(gap[3])
		return strconv.Itoa(low + dice.IntN(high-low+1))
	}
	words := t.words[gap[1]]
	at := dice.IntN(len(words))
	for _, taken := range filled {
		if taken == words[at] {
			at = (at + 1) % len(words)
			break
		}
	}
	return words[at]
}

// capitals are the letters that a filled gap has brought to the start of a sentence.
var capitals = regexp.MustCompile(`\. [a-z]`)

func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

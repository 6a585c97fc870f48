package script

import (
	"fmt"
	"strconv"
	"strings"
)

const separator = "----"

// story is a parsed file.
type story struct {
	file     string
	text     string // everything above the separator
	lines    []*line
	expected []string // everything below, including comments and blank lines
}

// line is one command of a script.
type line struct {
	where string // file:line
	text  string
	words []word
}

// word is an argument, or an option when key is not empty.
type word struct{ key, value string }

// parse splits a file into script and trace. A new story has no separator yet, and an empty trace.
func parse(file, data string) (*story, error) {
	data = strings.ReplaceAll(data, "\r\n", "\n")
	s := &story{file: file, text: data}
	if above, below, ok := cutSeparator(data); ok {
		s.text = above
		s.expected = splitLines(below)
	} else if data != "" && !strings.HasSuffix(data, "\n") {
		s.text += "\n"
	}
	for i, text := range splitLines(s.text) {
		text = strings.TrimSpace(text)
		if isNote(text) {
			continue
		}
		where := fmt.Sprintf("%s:%d", file, i+1)
		words, err := split(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		s.lines = append(s.lines, &line{where: where, text: text, words: words})
	}
	return s, nil
}

func cutSeparator(data string) (above, below string, ok bool) {
	if rest, ok := strings.CutPrefix(data, separator+"\n"); ok {
		return "", rest, true
	}
	above, below, ok = strings.Cut(data, "\n"+separator+"\n")
	if !ok {
		above, ok = strings.CutSuffix(data, "\n"+separator)
	}
	return above + "\n", below, ok
}

// splitLines returns the lines of s without a final empty one.
func splitLines(s string) []string {
	if s = strings.TrimSuffix(s, "\n"); s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// isNote reports whether a line is a comment or blank.
func isNote(s string) bool { return strings.HasPrefix(s, "#") || strings.TrimSpace(s) == "" }

// split cuts a line into words.
func split(s string) ([]word, error) {
	var words []word
	for s = strings.TrimLeft(s, " \t"); s != ""; s = strings.TrimLeft(s, " \t") {
		var w word
		w.key, s = cutKey(s)
		value, rest, err := cutValue(s)
		if err != nil {
			return nil, err
		}
		w.value, s = value, rest
		words = append(words, w)
	}
	if words[0].key != "" {
		return nil, fmt.Errorf("%s=%s where a command should be", words[0].key, words[0].value)
	}
	return words, nil
}

// cutKey cuts "name=" off the front of s. A name consists of small letters and hyphens, so an
// argument with "=" needs quotes only if it looks like an option.
func cutKey(s string) (key, rest string) {
	i := strings.IndexFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && r != '-' })
	if i <= 0 || s[i] != '=' {
		return "", s
	}
	return s[:i], s[i+1:]
}

func cutValue(s string) (value, rest string, err error) {
	if s == "" || s[0] != '"' && s[0] != '`' {
		i := strings.IndexAny(s, " \t")
		if i < 0 {
			i = len(s)
		}
		return s[:i], s[i:], nil
	}
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", "", fmt.Errorf("unclosed quote in %s", s)
	}
	rest = s[len(quoted):]
	if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return "", "", fmt.Errorf("no blank after %s", quoted)
	}
	value, err = strconv.Unquote(quoted)
	return value, rest, err
}

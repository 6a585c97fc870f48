package seed

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/twofold-go/twofold/examples/site/content"
)

//go:embed text/*.txt
var texts embed.FS

// topic is a file: what posts of one kind are put together from.
type topic struct {
	name     string // of the file
	lang     content.Lang
	tags     []content.Tag
	intros   []string
	sections []section
	outros   []string
}

type section struct{ heading, text string }

// readTopics reads all topics, in the order of the numbers in the files' names.
func readTopics() ([]topic, error) {
	files, err := texts.ReadDir("text")
	if err != nil {
		return nil, err
	}
	topics := make([]topic, len(files))
	for _, f := range files {
		number, name, err := splitName(f.Name(), len(files))
		if err != nil {
			return nil, err
		}
		b, err := texts.ReadFile(path.Join("text", f.Name()))
		if err != nil {
			return nil, err
		}
		if topics[number-1], err = parse(name, string(b)); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	return topics, nil
}

func splitName(file string, most int) (number int, name string, err error) {
	n, err := fmt.Sscanf(strings.TrimSuffix(file, ".txt"), "%d-%s", &number, &name)
	if err != nil || n != 2 || number < 1 || number > most {
		return 0, "", fmt.Errorf("%s: the name must be NUMBER-NAME.txt", file)
	}
	return number, name, nil
}

// parse reads a file: lines of "name: value", then parts, each after a line of
// "== heading".
func parse(name, text string) (t topic, err error) {
	t.name = name
	head, parts, _ := strings.Cut(text, "\n== ")
	for line := range strings.Lines(head) {
		field, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch field {
		case "lang":
			t.lang = content.Lang(value)
		case "tags":
			for pair := range strings.SplitSeq(value, ", ") {
				slug, name, _ := strings.Cut(pair, "=")
				t.tags = append(t.tags, content.Tag{Slug: slug, Name: name})
			}
		}
	}
	for part := range strings.SplitSeq(parts, "\n== ") {
		heading, body, _ := strings.Cut(part, "\n")
		body = strings.TrimSpace(body)
		switch heading {
		case "intro":
			t.intros = append(t.intros, body)
		case "outro":
			t.outros = append(t.outros, body)
		default:
			t.sections = append(t.sections, section{heading, body})
		}
	}
	if len(t.tags) != 3 || len(t.intros) == 0 || len(t.outros) == 0 || len(t.sections) < 5 {
		return t, fmt.Errorf("a topic needs three tags, an intro, an outro and five sections")
	}
	return t, nil
}

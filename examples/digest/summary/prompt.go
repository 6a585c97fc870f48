package summary

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"
)

//go:embed prompt.txt
var promptText string
var promptTemplate = template.Must(template.New("prompt").Parse(promptText))

// PromptVersion is part of what digests are cached by. A change of what the model is told counts it up; a test sees to that.
const PromptVersion = "3"

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type account struct {
	Source  string `json:"source"`
	Title   string `json:"title"`
	Address string `json:"address,omitempty"`
	Text    string `json:"text,omitempty"`
}

func prompt(r Request, budget int) (messages []message, items int, err error) {
	tell := struct {
		Language, Entry string
		Items           int
	}{"English", "one or two sentences", styles[r.Style].items}
	if r.Language == Chinese {
		tell.Language = "Simplified Chinese"
	}
	switch r.Style {
	case Brief:
		tell.Entry = "at most ten words"
	case Full:
		tell.Entry = "up to four sentences"
	}
	var system strings.Builder
	if err := promptTemplate.Execute(&system, tell); err != nil {
		return nil, 0, err
	}
	all := fit(r.Items, budget-tokens(system.String()))
	if len(all) == 0 { // of nothing a model would make something up
		return nil, 0, fmt.Errorf("%w: none of %d items fits into %d tokens", ErrRequest, len(r.Items), budget)
	}
	// In JSON no item can pretend to end, or to be a message.
	data, err := json.Marshal(struct {
		Kind  string    `json:"kind"`
		Start string    `json:"period_start"`
		End   string    `json:"period_end"`
		Items []account `json:"items"`
	}{r.Kind, r.Start.Format(time.RFC3339), r.End.Format(time.RFC3339), all})
	return []message{{"system", system.String()}, {"user", string(data)}}, len(all), err
}

const (
	perItem   = 400 // tokens of text at most, so that one long item does not use up the budget
	wrapping  = 30  // tokens for the names of fields and what quotes them
	leastText = 40  // tokens: less than that says nothing
)

// fit returns what the budget of tokens has room for: each source's newest, then each one's second. What does not fit whole is cut.
func fit(items []Item, budget int) (all []account) {
	for _, it := range inTurn(items) {
		t := account{Source: line(it.Source), Title: shorten(line(it.Title), 200, utf8.RuneCountInString), Address: destination(it.URL)}
		fixed := tokens(t.Source) + tokens(t.Title) + tokens(t.Address) + wrapping
		if fixed+leastText > budget {
			continue // a shorter one may fit: one item must not keep out the others
		}
		t.Text = shorten(plain(it.Text), min(perItem, budget-fixed), tokens)
		budget -= fixed + tokens(t.Text)
		all = append(all, t)
	}
	return all
}

// tokens guesses rather too many than too few: four letters make one in English; a Chinese character makes 1.25.
func tokens(s string) int {
	letters := utf8.RuneCountInString(s)
	return (letters + 2*(len(s)-letters) + 3) / 4
}

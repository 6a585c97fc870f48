package summary

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"

	"github.com/openai/openai-go/v3"
)

//go:embed prompt.txt
var promptText string
var promptTemplate = template.Must(template.New("prompt").Parse(promptText))

// PromptVersion is part of the cache key. Increase it when the prompt changes; a test checks this.
const PromptVersion = "3"

type account struct {
	Source  string `json:"source"`
	Title   string `json:"title"`
	Address string `json:"address,omitempty"`
	Text    string `json:"text,omitempty"`
}

func prompt(r Request, budget int) (messages []openai.ChatCompletionMessageParamUnion, items int, err error) {
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
	if len(all) == 0 { // without items, a model would invent some
		return nil, 0, fmt.Errorf("%w: none of %d items fits into %d tokens", ErrRequest, len(r.Items), budget)
	}
	// In JSON, an item cannot pretend to end or to be a message.
	data, err := json.Marshal(struct {
		Kind  string    `json:"kind"`
		Start string    `json:"period_start"`
		End   string    `json:"period_end"`
		Items []account `json:"items"`
	}{r.Kind, r.Start.Format(time.RFC3339), r.End.Format(time.RFC3339), all})
	return []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system.String()), openai.UserMessage(string(data))}, len(all), err
}

const (
	perItem   = 400 // the most tokens of text, because one long item must not use up the budget
	wrapping  = 30  // tokens for field names and quotes
	leastText = 40  // tokens; a shorter text is useless
)

// fit returns the items that the budget of tokens has room for: the newest of each source,
// then the second newest of each. It cuts texts that are too long.
func fit(items []Item, budget int) (all []account) {
	for _, it := range inTurn(items) {
		t := account{Source: line(it.Source), Title: shorten(line(it.Title), 200, utf8.RuneCountInString), Address: destination(it.URL)}
		fixed := tokens(t.Source) + tokens(t.Title) + tokens(t.Address) + wrapping
		if fixed+leastText > budget {
			continue // a shorter item may still fit
		}
		t.Text = shorten(plain(it.Text), min(perItem, budget-fixed), tokens)
		budget -= fixed + tokens(t.Text)
		all = append(all, t)
	}
	return all
}

// tokens estimates the tokens of a text, rather too high. It counts four English letters as
// one token, and a Chinese character as 1.25.
func tokens(s string) int {
	letters := utf8.RuneCountInString(s)
	return (letters + 2*(len(s)-letters) + 3) / 4
}

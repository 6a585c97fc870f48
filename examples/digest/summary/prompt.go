package summary

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
	"time"
)

//go:embed prompt.txt
var promptText string

var promptTemplate = template.Must(template.New("prompt").Parse(promptText))

// PromptVersion is part of what digests are cached by. Whoever changes what the model is
// told, here or in prompt.txt, counts it up; a test holds the two together.
const PromptVersion = "1"

// message is one of a conversation.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// prompt returns what the model is told, and how many items it is told of.
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
		Kind  string `json:"kind"`
		Start string `json:"period_start"`
		End   string `json:"period_end"`
		Items []told `json:"items"`
	}{r.Kind, r.Start.Format(time.RFC3339), r.End.Format(time.RFC3339), all})
	if err != nil {
		return nil, 0, err
	}
	return []message{{"system", system.String()}, {"user", string(data)}}, len(all), nil
}

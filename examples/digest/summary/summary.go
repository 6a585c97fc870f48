// Package summary makes a digest of what came in: by quoting the items, or by asking a language model. What stands in items is never an
// instruction, never HTML, and never a link but the item's own: see [Check] and [HTML].
package summary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Item is something that a digest may tell of.
type Item struct {
	Source    string // the source's name
	Title     string
	URL       string // http or https; others are not linked to
	Text      string // plain or HTML
	Published time.Time
}

// The languages a digest may be written in.
const (
	English = "en"
	Chinese = "zh"
)

// The styles of a digest.
const (
	Normal = ""
	Brief  = "brief" // the main items, without their text
	Full   = "full"  // more items, and more of each
)

// Request says what a digest is to be made of.
type Request struct {
	Kind       string    // "4h", "daily", "weekly" or "monthly"
	Start, End time.Time // of the period, in the location that dates are to be shown in
	Items      []Item
	Language   string // English or Chinese; empty: English
	Style      string // Normal, Brief or Full
}

// Summary is a digest.
type Summary struct {
	Markdown string
	Model    string // who wrote it
	Items    int    // how many items it was made from: not all of them may fit
	Tokens   int64  // spent, as the model's server counts them; also beside an error
	Dropped  int    // links that were no item's
}

// Variant names what else the text depends on, so that a cache can tell two texts of one request apart.
type Variant struct {
	Model  string
	Prompt string // the version of the prompt, and whatever settings shape the text
}

// Summariser makes digests.
type Summariser interface {
	// Summarise returns a digest of at least one item, which it does not change. Text that is not to be trusted is an error.
	Summarise(ctx context.Context, r Request) (Summary, error)
	// Variant never changes.
	Variant() Variant
}

// Validate returns what is wrong with a request, or nil.
func (r *Request) Validate() error {
	if len(r.Items) == 0 {
		return fmt.Errorf("%w: no Items", ErrRequest)
	}
	if err := CheckWishes(r.Language, r.Style); err != nil {
		return fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return nil
}

// CheckWishes refuses a language or a style that no digest can be written in.
func CheckWishes(language, style string) error {
	switch {
	case language != "" && language != English && language != Chinese:
		return fmt.Errorf("language of %d bytes, must be empty, %q or %q", len(language), English, Chinese)
	case style != Normal && style != Brief && style != Full:
		return fmt.Errorf("style of %d bytes, must be empty, %q or %q", len(style), Brief, Full)
	}
	return nil
}

// DefaultBaseURL is where a model is asked when the environment names one and no place.
const DefaultBaseURL = "https://api.openai.com/v1"

// FromEnv returns the summariser that the environment asks for: [Extractive], or with OPENAI_MODEL that model.
// The other variables are OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MAX_COMPLETION_TOKENS (2000), OPENAI_TEMPERATURE (none),
// OPENAI_TIMEOUT of one try in seconds (60), and OPENAI_TRIES (4). All faults are reported at once.
func FromEnv(getenv func(string) string) (Summariser, error) {
	cfg := OpenAIConfig{BaseURL: getenv("OPENAI_BASE_URL"), APIKey: getenv("OPENAI_API_KEY"), Model: getenv("OPENAI_MODEL")}
	var errs []error
	number := func(name string, least, most int) int {
		text := getenv(name)
		n, err := strconv.Atoi(text)
		if text != "" && (err != nil || n < least || n > most) {
			errs = append(errs, fmt.Errorf("%w: %s=%.20q, want a whole number from %d to %d, or no such variable", ErrConfig, name, text, least, most))
		}
		return n
	}
	cfg.OutputTokens = number("OPENAI_MAX_COMPLETION_TOKENS", 1, 1_000_000)
	cfg.Timeout = time.Duration(number("OPENAI_TIMEOUT", 1, 240)) * time.Second
	cfg.Tries = uint(number("OPENAI_TRIES", 1, 10)) //nolint:gosec // checked
	if text := getenv("OPENAI_TEMPERATURE"); text != "" {
		t, err := strconv.ParseFloat(text, 64)
		if err != nil || !(t >= 0 && t <= 2) {
			errs = append(errs, fmt.Errorf("%w: OPENAI_TEMPERATURE=%.20q, want a number from 0 to 2, or no such variable", ErrConfig, text))
		}
		cfg.Temperature = &t
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if cfg == (OpenAIConfig{}) {
		return NewExtractive(), nil
	}
	if cfg.Model == "" {
		return nil, fmt.Errorf("%w: there are settings of a model, and OPENAI_MODEL is empty: name the model, or remove them", ErrConfig)
	}
	cfg.BaseURL = cmp.Or(cfg.BaseURL, DefaultBaseURL)
	return NewOpenAI(cfg)
}

// Package summary writes a digest of items, by quoting them or by calling a language model.
// Text in items is never an instruction and never HTML. The only links in a digest are
// those of the items: see [Check] and [HTML].
package summary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Item is an item that a digest may report.
type Item struct {
	Source    string // the source's name
	Title     string
	URL       string // http or https; other URLs are not linked
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
	Full   = "full"  // more items, with more text
)

// Request describes the digest to write.
type Request struct {
	Kind       string    // "4h", "daily", "weekly" or "monthly"
	Start, End time.Time // of the period, in the location for displayed dates
	Items      []Item
	Language   string // English or Chinese; empty means English
	Style      string // Normal, Brief or Full
}

// Summary is a digest.
type Summary struct {
	Markdown string
	Model    string // the author
	Items    int    // items used: not all may fit
	Tokens   int64  // spent, as the model's server counts them; set even with an error
	Dropped  int    // removed links that were not of an item
}

// Variant identifies what else the text depends on, as a part of the cache key.
type Variant struct {
	Model  string
	Prompt string // the version of the prompt, and the settings that shape the text
}

// Summariser writes digests.
type Summariser interface {
	// Summarise returns a digest of at least one item, and does not change the items. A
	// text that cannot be trusted is an error.
	Summarise(ctx context.Context, r Request) (Summary, error)
	// Variant returns the same value at every call.
	Variant() Variant
}

// Validate returns an error if a request is invalid.
func (r *Request) Validate() error {
	if len(r.Items) == 0 {
		return fmt.Errorf("%w: no Items", ErrRequest)
	}
	if err := CheckWishes(r.Language, r.Style); err != nil {
		return fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return nil
}

// CheckWishes refuses an unsupported language or style.
func CheckWishes(language, style string) error {
	switch {
	case language != "" && language != English && language != Chinese:
		return fmt.Errorf("language of %d bytes, must be empty, %q or %q", len(language), English, Chinese)
	case style != Normal && style != Brief && style != Full:
		return fmt.Errorf("style of %d bytes, must be empty, %q or %q", len(style), Brief, Full)
	}
	return nil
}

// DefaultBaseURL is the server when the environment names a model but no server.
const DefaultBaseURL = "https://api.openai.com/v1"

// FromEnv returns the summariser that the environment selects: the model in OPENAI_MODEL,
// or else [Extractive]. The other variables are OPENAI_BASE_URL, OPENAI_API_KEY,
// OPENAI_MAX_COMPLETION_TOKENS (2000), OPENAI_TIMEOUT of one try in seconds (60), and
// OPENAI_TRIES (4). The error names every fault.
func FromEnv(getenv func(string) string) (Summariser, error) {
	cfg := OpenAIConfig{BaseURL: getenv("OPENAI_BASE_URL"), APIKey: getenv("OPENAI_API_KEY"), Model: getenv("OPENAI_MODEL")}
	var errs []error
	number := func(name string, least, most int) int {
		text := getenv(name)
		n, err := strconv.Atoi(text)
		if text != "" && (err != nil || n < least || n > most) {
			errs = append(errs, fmt.Errorf("%w: %s=%.20q, want a whole number from %d to %d, or unset", ErrConfig, name, text, least, most))
		}
		return n
	}
	cfg.OutputTokens = number("OPENAI_MAX_COMPLETION_TOKENS", 1, 1_000_000)
	cfg.Timeout = time.Duration(number("OPENAI_TIMEOUT", 1, 240)) * time.Second
	cfg.Tries = uint(number("OPENAI_TRIES", 1, 10)) //nolint:gosec // checked
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if cfg == (OpenAIConfig{}) {
		return NewExtractive(), nil
	}
	if cfg.Model == "" {
		return nil, fmt.Errorf("%w: a model is configured, but OPENAI_MODEL is empty: name the model, or remove the other settings", ErrConfig)
	}
	cfg.BaseURL = cmp.Or(cfg.BaseURL, DefaultBaseURL)
	return NewOpenAI(cfg)
}

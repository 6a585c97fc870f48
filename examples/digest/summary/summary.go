// Package summary makes a digest of what came in: by picking sentences, offline and the
// same every time, or by asking a language model.
//
// Items are data, whoever wrote them. What stands in them is never an instruction, never
// HTML, and never a link but the item's own: see [Check] and [HTML].
package summary

import (
	"context"
	"errors"
	"fmt"
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

// The languages a digest may be written in. Titles and quoted sentences stay in theirs.
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
	Repaired int    // links that were nearly an item's
}

// Variant names what else the text depends on, so that a cache can tell two texts of one
// request apart. The zero Variant is the one that the program comes with.
type Variant struct {
	Model  string
	Prompt string // the version of the prompt, and whatever settings shape the text
}

// Summariser makes digests. All methods may be called concurrently.
type Summariser interface {
	// Summarise returns a digest of at least one item. It neither keeps nor changes
	// the items. Text that is empty, cut off, or not to be trusted is an error.
	Summarise(ctx context.Context, r Request) (Summary, error)

	// Variant never changes.
	Variant() Variant
}

// The reasons why there is no digest. Those of the network and of ctx come besides.
var (
	ErrRequest     = errors.New("summary: bad request")
	ErrEmpty       = errors.New("summary: empty text")
	ErrTruncated   = errors.New("summary: text cut off")
	ErrLinks       = errors.New("summary: text with links that are no item's")
	ErrRateLimited = errors.New("summary: rate limited")
	ErrUnavailable = errors.New("summary: model unavailable")
	ErrRefused     = errors.New("summary: model refused the request")
	ErrResponse    = errors.New("summary: unreadable response")
	ErrConfig      = errors.New("summary: bad configuration")
)

// RateLimitError says that the model is not to be asked before some time. It is
// [ErrRateLimited], and a cache may remember it by its code.
type RateLimitError struct{ Until time.Time }

// Error says until when.
func (e *RateLimitError) Error() string {
	return fmt.Sprintf("%v until %s", ErrRateLimited, e.Until.UTC().Format(time.RFC3339))
}

// Unwrap returns [ErrRateLimited].
func (e *RateLimitError) Unwrap() error { return ErrRateLimited }

// CacheCode is what other processes learn of the error.
func (e *RateLimitError) CacheCode() string { return "rate-limited" }

// Validate returns what is wrong with a request, or nil.
func (r *Request) Validate() error {
	switch {
	case len(r.Items) == 0:
		return fmt.Errorf("%w: no Items", ErrRequest)
	case r.Language != "" && r.Language != English && r.Language != Chinese:
		return fmt.Errorf("%w: Language of %d bytes, must be empty, %q or %q", ErrRequest, len(r.Language), English, Chinese)
	case r.Style != Normal && r.Style != Brief && r.Style != Full:
		return fmt.Errorf("%w: Style of %d bytes, must be empty, %q or %q", ErrRequest, len(r.Style), Brief, Full)
	}
	return nil
}

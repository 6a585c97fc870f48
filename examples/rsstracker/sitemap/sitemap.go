// Package sitemap reads sitemaps as sites really serve them: as XML, index, RSS,
// Atom or plain text, compressed or not, in whatever encoding, cut off or full of
// small mistakes. It reads as a stream: what it holds in memory does not grow with
// the sitemap.
//
// What it is lenient about, and what it is not, follows from one rule: a sitemap
// that could not be read whole must never look like one from which pages have
// vanished. So damage after the first entry is reported as [Summary.Partial], and
// something that is no sitemap at all, such as an HTML page with status 200, is an
// error.
package sitemap

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"
)

// The errors that callers branch on. What [Read] returns wraps one of them, or is
// the reader's or the callback's own.
var (
	ErrHTML   = errors.New("sitemap: an HTML page, not a sitemap")
	ErrEmpty  = errors.New("sitemap: nothing in it")
	ErrFormat = errors.New("sitemap: not a sitemap")
	ErrLimit  = errors.New("sitemap: over a limit")
	ErrDate   = errors.New("sitemap: not a date")
	ErrURL    = errors.New("sitemap: not a usable URL")
)

// Kind is what a sitemap turned out to be.
type Kind uint8

// The kinds of sitemaps. The zero Kind is none of them.
const (
	URLSet Kind = iota + 1 // <urlset>: pages
	Index                  // <sitemapindex>: other sitemaps
	Text                   // one URL on each line
	Feed                   // RSS or Atom: its newest pages
)

// String returns the kind in lower case.
func (k Kind) String() string {
	switch k {
	case URLSet:
		return "urlset"
	case Index:
		return "index"
	case Text:
		return "text"
	case Feed:
		return "feed"
	}
	return "none"
}

// Entry is one page, or, in an [Index], one sitemap.
type Entry struct {
	Child     bool      // it is a sitemap
	Loc       string    // absolute, and normalised by [Normalise]
	LastMod   time.Time // in UTC, as the site wrote it, perhaps in the future; zero: none that could be read
	Published time.Time // of news and feeds, like LastMod
	Title     string    // of news and feeds; "" for none
}

// Options bound what is read. The zero Options make no sense of relative URLs.
type Options struct {
	Base       *url.URL // where the sitemap was; relative URLs are below it. Nil: they are skipped
	MaxBytes   int64    // after decompression. 0: 50 MiB, the protocol's
	MaxEntries int      // 0: 200,000, four times the protocol's: who passes it by one should not lose that one
}

// The usual limits, see https://www.sitemaps.org/protocol.html.
const (
	usualBytes   = 50 << 20
	usualEntries = 200_000
)

// maxToken is the most bytes of a sitemap that are held at once: a text, a tag with
// its attributes, a line. A real one has a few hundred.
const maxToken = 128 << 10

// maxField is the longest URL, date or title that is taken. The protocol's is 2,048.
const maxField = 8 << 10

// Summary is what is known of a sitemap after it was read.
type Summary struct {
	Kind     Kind
	Entries  int   // that the callback got
	Skipped  int   // that had no URL of use
	BadDates int   // that were taken without the date that could not be read
	Partial  error // why not all of it was read; nil: it was
}

// Read reads a sitemap and calls fn with each entry in the order they stand. An
// error of fn ends it and is returned.
//
// When the sitemap breaks off after some entries, by damage, by the connection or
// by a limit, the error is nil and Summary.Partial says why. When there is nothing
// of use in it the error says what it is instead. A sitemap that is well formed and
// has no entries is no error: some are.
func Read(r io.Reader, opt Options, fn func(Entry) error) (Summary, error) {
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = usualBytes
	}
	if opt.MaxEntries <= 0 {
		opt.MaxEntries = usualEntries
	}
	text, first, err := decode(r, opt.MaxBytes)
	if err != nil {
		return Summary{}, err
	}
	out := &sink{opt: opt, fn: fn}
	switch first {
	case '<':
		err = readXML(text, out)
	case 'h', 'H', '#':
		err = readText(text, out)
	default:
		return Summary{}, fmt.Errorf("%w: it begins with the byte %#02x", ErrFormat, first)
	}
	return out.finish(err)
}

// sink takes what a reader finds, and holds it against the limits.
type sink struct {
	opt    Options
	fn     func(Entry) error
	sum    Summary
	failed error // of fn
}

// raw is an entry as it was written.
type raw struct{ loc, lastMod, published, title string }

// put hands an entry to the callback.
func (s *sink) put(r raw) error {
	loc, err := Normalise(r.loc, s.opt.Base)
	if err != nil {
		s.sum.Skipped++
		return nil
	}
	if s.sum.Entries == s.opt.MaxEntries {
		return fmt.Errorf("%w: more than %d entries", ErrLimit, s.opt.MaxEntries)
	}
	e := Entry{Child: s.sum.Kind == Index, Loc: loc, Title: r.title, LastMod: s.date(r.lastMod), Published: s.date(r.published)}
	if s.failed = s.fn(e); s.failed != nil {
		return s.failed
	}
	s.sum.Entries++
	return nil
}

// date reads a date that may be missing. One that is no date is counted, and the
// page is taken without it.
func (s *sink) date(text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	t, err := ParseDate(text)
	if err != nil {
		s.sum.BadDates++
	}
	return t
}

// finish decides what a reader's error means.
func (s *sink) finish(err error) (Summary, error) {
	switch {
	case s.failed != nil:
		return s.sum, s.failed
	case err == nil && s.sum.Entries == 0 && s.sum.Skipped > 0:
		return s.sum, fmt.Errorf("%w: none of %d entries has a URL", ErrFormat, s.sum.Skipped)
	case err == nil:
		return s.sum, nil
	case s.sum.Entries == 0:
		return s.sum, err
	}
	s.sum.Partial = err
	return s.sum, nil
}

// Package sitemap reads sitemaps in bounded memory, in every form that sites serve: XML,
// index, text, with mistakes.
package sitemap

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/internal/dates"
	"github.com/twofold-go/twofold/examples/internal/xmltext"
)

// The errors of [Read] wrap one of these, or come from the reader or the callback.
var (
	ErrHTML   = errors.New("sitemap: an HTML page, not a sitemap")
	ErrEmpty  = errors.New("sitemap: empty")
	ErrFormat = errors.New("sitemap: not a sitemap")
	ErrLimit  = errors.New("sitemap: over a limit")
	ErrURL    = errors.New("sitemap: not a usable URL")
)

// Kind is the kind of a sitemap.
type Kind uint8

// The kinds of sitemaps. The zero Kind is unknown.
const (
	URLSet Kind = iota + 1 // <urlset>: pages
	Index                  // <sitemapindex>: other sitemaps
	Text                   // one URL on each line
)

// Entry is one page or, in an [Index], one sitemap.
type Entry struct {
	Child     bool      // whether it is a sitemap
	Loc       string    // absolute, in the form of [Normalise]
	LastMod   time.Time // in UTC, as the site wrote it, perhaps in the future; zero means missing or unreadable
	Published time.Time // of news, as LastMod
	Title     string    // of news; "" means none
}

// Options limit what Read reads.
type Options struct {
	Base       *url.URL // the URL of the sitemap, for relative URLs. Nil means that Read skips them
	MaxBytes   int64    // of the text. Zero means 50 MiB, the protocol's limit
	MaxEntries int      // 0 means 200,000, four times the protocol's limit
}

// maxToken is the most bytes of a text, a tag or a line that are in memory.
const (
	maxToken = 128 << 10
	maxField = 8 << 10
)

// Summary describes a sitemap after reading.
type Summary struct {
	Kind    Kind
	Entries int   // passed to the callback
	Skipped int   // without a usable URL
	Partial error // why the rest was not read. Nil means that all was read
}

// Read calls fn with each entry of a text, which [fetch.Response.Text] returned. It stops at an error of fn. If the sitemap breaks off
// after the first entry, Summary.Partial says why.
func Read(r io.Reader, opt Options, fn func(Entry) error) (Summary, error) {
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = 50 << 20
	}
	if opt.MaxEntries <= 0 {
		opt.MaxEntries = 200_000
	}
	text := bufio.NewReader(xmltext.Clean(http.MaxBytesReader(nil, io.NopCloser(r), opt.MaxBytes)))
	first, err := firstByte(text)
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

type sink struct {
	opt    Options
	fn     func(Entry) error
	sum    Summary
	failed error // error of fn
}

type raw struct{ loc, lastMod, published, title string }

func (s *sink) put(r raw) error {
	loc, err := Normalise(r.loc, s.opt.Base)
	if err != nil {
		s.sum.Skipped++
		return nil
	}
	if s.sum.Entries == s.opt.MaxEntries {
		return fmt.Errorf("%w: more than %d entries", ErrLimit, s.opt.MaxEntries)
	}
	e := Entry{Child: s.sum.Kind == Index, Loc: loc, Title: r.title}
	e.LastMod, _ = dates.Parse(r.lastMod) // a bad date counts as none
	e.Published, _ = dates.Parse(r.published)
	if s.failed = s.fn(e); s.failed != nil {
		return s.failed
	}
	s.sum.Entries++
	return nil
}

func (s *sink) finish(err error) (Summary, error) {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		err = fmt.Errorf("%w: too many bytes", ErrLimit)
	}
	switch {
	case s.failed != nil:
		return s.sum, s.failed
	case err == nil && s.sum.Entries == 0 && s.sum.Skipped > 0:
		return s.sum, fmt.Errorf("%w: none of %d entries has a URL", ErrFormat, s.sum.Skipped)
	case err != nil && s.sum.Entries > 0:
		s.sum.Partial, err = err, nil
	}
	return s.sum, err
}

// firstByte returns the first byte that is not a space, and leaves it in the text.
func firstByte(text *bufio.Reader) (byte, error) {
	for {
		c, err := text.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return 0, ErrEmpty
		case err != nil:
			return 0, fmt.Errorf("sitemap: %w", err)
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			return c, text.UnreadByte()
		}
	}
}

// readText reads an absolute URL on each line. If the first line has none, the text is not a
// sitemap.
func readText(r io.Reader, out *sink) error {
	out.opt.Base = nil
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxToken)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := out.put(raw{loc: line}); err != nil {
			return err
		}
		if out.sum.Entries == 0 {
			return fmt.Errorf("%w: text whose first line is not a URL", ErrFormat)
		}
		out.sum.Kind = Text
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%w: a line of more than %d bytes", ErrLimit, maxToken)
	} else if err != nil {
		return fmt.Errorf("sitemap: %w", err)
	}
	return nil
}

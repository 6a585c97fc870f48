// Package sitemap reads sitemaps as sites serve them, in bounded memory: XML, index or text, packed, with mistakes.
package sitemap

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// What [Read] returns wraps one of these, or is the reader's or the callback's own.
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
)

// Entry is one page, or, in an [Index], one sitemap.
type Entry struct {
	Child     bool      // it is a sitemap
	Loc       string    // absolute, and normalised by [Normalise]
	LastMod   time.Time // in UTC, as the site wrote it, perhaps in the future; zero: none that could be read
	Published time.Time // of news, like LastMod
	Title     string    // of news; "" for none
}

// Options bound what is read.
type Options struct {
	Base       *url.URL // where the sitemap was; relative URLs are below it. Nil: they are skipped
	MaxBytes   int64    // after decompression. 0: 50 MiB, the protocol's
	MaxEntries int      // 0: 200,000, four times the protocol's
}

// maxToken is the most bytes that are held at once: a text, a tag, a line.
const (
	maxToken = 128 << 10
	maxField = 8 << 10
)

// Summary is what is known of a sitemap after it was read.
type Summary struct {
	Kind    Kind
	Entries int   // that the callback got
	Skipped int   // that had no usable URL
	Partial error // why not all of it was read; nil: it was
}

// Read calls fn with each entry. An error of fn ends it. If the sitemap breaks off later, Summary.Partial says why.
func Read(r io.Reader, opt Options, fn func(Entry) error) (Summary, error) {
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = 50 << 20
	}
	if opt.MaxEntries <= 0 {
		opt.MaxEntries = 200_000
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

type sink struct {
	opt    Options
	fn     func(Entry) error
	sum    Summary
	failed error // of fn
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
	e.LastMod, _ = ParseDate(r.lastMod) // a bad date is left out
	e.Published, _ = ParseDate(r.published)
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

// decode unpacks a sitemap by its bytes, and returns its first byte that is no space.
func decode(r io.Reader, limit int64) (*bufio.Reader, byte, error) {
	b := bufio.NewReader(r)
	for range 2 { // a .gz that the server compressed again for the transfer
		head, err := b.Peek(2)
		if err != nil || head[0] != 0x1f || head[1] != 0x8b {
			break // what is wrong with it shows when it is read
		}
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, 0, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		b = bufio.NewReader(z)
	}
	b = bufio.NewReader(http.MaxBytesReader(nil, io.NopCloser(b), limit))
	if head, _ := b.Peek(3); string(head) == "\xef\xbb\xbf" { // a byte order mark
		_, _ = b.Discard(3)
	}
	for {
		c, err := b.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return nil, 0, ErrEmpty
		case err != nil:
			return nil, 0, fmt.Errorf("sitemap: %w", err)
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			return b, c, b.UnreadByte()
		}
	}
}

// readText reads one absolute URL on each line. The first line decides whether it is a sitemap at all.
func readText(r *bufio.Reader, out *sink) error {
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
			return fmt.Errorf("%w: text whose first line is no URL", ErrFormat)
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

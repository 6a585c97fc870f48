package httpcache

import (
	"errors"
	"fmt"
	"slices"

	"github.com/twofold-go/twofold/cache/httpcache/internal/coding"
)

// Encoding is a content coding in which responses are stored beside their plain form. Gzip and
// Zstd make one; New refuses the zero Encoding. It may be used concurrently and by several
// Caches.
type Encoding struct{ by coding.Coding }

// Gzip returns the coding that every client knows, at a level from 1, the fastest, to 9, the
// smallest. Zero means the default level of gzip.
func Gzip(level int) Encoding { return Encoding{coding.Gzip(level)} }

// Zstd returns the coding of RFC 8878, at a level from 1, the fastest, to 22, the smallest. Zero
// means level 3. It is faster than gzip and smaller, and newer clients know it. Its window is at
// most 8 MiB, as RFC 9659 requires.
func Zstd(level int) Encoding { return Encoding{coding.Zstd(level)} }

// encodings returns the faults of Config.Encodings.
func (c *Config) encodings() (errs []error) {
	var seen [coding.Kinds]bool
	for i, e := range compressors(c.Encodings) {
		switch {
		case e.Pack == nil && e.Level == 0:
			errs = append(errs, fmt.Errorf("field Encodings: entry %d is zero; make one by Gzip or Zstd", i))
			continue
		case e.Pack == nil:
			errs = append(errs, fmt.Errorf("field Encodings: level %d of entry %d is not one of %v; 0 is the default", e.Level, i, e.Kind))
		case seen[e.Kind]:
			errs = append(errs, fmt.Errorf("field Encodings has %v twice", e.Kind))
		}
		seen[e.Kind] = true
	}
	if len(c.Encodings) > 0 && slices.ContainsFunc(c.Vary, func(v VaryRule) bool { return v.Header == "Accept-Encoding" }) {
		errs = append(errs, errors.New("field Vary has Accept-Encoding, which no handler sees when Encodings is set; leave one of them out"))
	}
	c.Encodings = slices.Clone(c.Encodings)
	return errs
}

// compressors returns what makes the codings of a Config.
func compressors(of []Encoding) []coding.Coding {
	all := make([]coding.Coding, len(of))
	for i, e := range of {
		all[i] = e.by
	}
	return all
}

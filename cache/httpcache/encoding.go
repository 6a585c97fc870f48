package httpcache

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Encoding is a content coding in which responses are stored beside their plain form. Gzip and
// Zstd make one; New refuses the zero Encoding. It may be used concurrently and by several
// Caches.
type Encoding struct {
	kind  kind
	level int
	pack  func(body []byte) []byte // nil: the level is invalid
}

// kind is a content coding. Its number is an index of page.codings.
type kind uint8

const (
	asGzip kind = iota
	asZstd
	kinds
)

var kindNames = [kinds]string{asGzip: "gzip", asZstd: "zstd"}

func (k kind) String() string { return kindNames[k] }

// Gzip returns the coding that every client knows, at a level from 1, the fastest, to 9, the
// smallest. Zero means the default level of gzip.
func Gzip(level int) Encoding {
	e := Encoding{kind: asGzip, level: level}
	if level < 0 || level > gzip.BestCompression {
		return e
	}
	if level == 0 {
		level = gzip.DefaultCompression
	}
	writers := sync.Pool{New: func() any {
		w, err := gzip.NewWriterLevel(nil, level)
		if err != nil { // impossible: the level is valid
			panic(err)
		}
		return w
	}}
	e.pack = func(body []byte) []byte {
		w := writers.Get().(*gzip.Writer)
		defer writers.Put(w)
		var b bytes.Buffer
		w.Reset(&b)
		_, _ = w.Write(body) // a Buffer takes everything
		_ = w.Close()
		return b.Bytes()
	}
	return e
}

// Zstd returns the coding of RFC 8878, at a level from 1, the fastest, to 22, the smallest. Zero
// means level 3. It is faster than gzip and smaller, and newer clients know it. Its window is at
// most 8 MiB, as RFC 9659 requires.
func Zstd(level int) Encoding {
	e := Encoding{kind: asZstd, level: level}
	if level < 0 || level > 22 {
		return e
	}
	if level == 0 {
		level = 3
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithWindowSize(8<<20))
	if err != nil {
		return e
	}
	e.pack = func(body []byte) []byte { return w.EncodeAll(body, nil) }
	return e
}

// encodings returns the faults of Config.Encodings.
func (c *Config) encodings() (errs []error) {
	var seen [kinds]bool
	for i, e := range c.Encodings {
		switch {
		case e.pack == nil && e.level == 0:
			errs = append(errs, fmt.Errorf("field Encodings: entry %d is zero; make one by Gzip or Zstd", i))
			continue
		case e.pack == nil:
			errs = append(errs, fmt.Errorf("field Encodings: level %d of entry %d is not one of %v; 0 is the default", e.level, i, e.kind))
		case seen[e.kind]:
			errs = append(errs, fmt.Errorf("field Encodings has %v twice", e.kind))
		}
		seen[e.kind] = true
	}
	if len(c.Encodings) > 0 && slices.ContainsFunc(c.Vary, func(v VaryRule) bool { return v.Header == "Accept-Encoding" }) {
		errs = append(errs, errors.New("field Vary has Accept-Encoding, which no handler sees when Encodings is set; leave one of them out"))
	}
	c.Encodings = slices.Clone(c.Encodings)
	return errs
}

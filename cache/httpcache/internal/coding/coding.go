// Package coding compresses bodies, and chooses the coding that a client prefers.
package coding

import (
	"bytes"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Coding makes bodies in one content coding. It may be used concurrently. The zero Coding makes none.
type Coding struct {
	Kind  Kind
	Level int
	Pack  func(body []byte) []byte // nil: the level is invalid
}

// Kind is a content coding. Its number is an index of the codings that a page knows.
type Kind uint8

// The codings, and their number.
const (
	OfGzip Kind = iota
	OfZstd
	Kinds
)

var kindNames = [Kinds]string{OfGzip: "gzip", OfZstd: "zstd"}

// String returns the name in Content-Encoding.
func (k Kind) String() string { return kindNames[k] }

// Gzip returns the coding of RFC 1952 at a level from 1 to 9. Zero means the default level.
func Gzip(level int) Coding {
	e := Coding{Kind: OfGzip, Level: level}
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
	e.Pack = func(body []byte) []byte {
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

// Zstd returns the coding of RFC 8878 at a level from 1 to 22. Zero means level 3. Its window is at
// most 8 MiB, as RFC 9659 requires.
func Zstd(level int) Coding {
	e := Coding{Kind: OfZstd, Level: level}
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
	// The writer makes its channel when it is first used. Were that in a synctest bubble, the channel
	// would end with the bubble, and the next test that uses this coding would be aborted.
	w.EncodeAll(nil, nil)
	e.Pack = func(body []byte) []byte { return w.EncodeAll(body, nil) }
	return e
}

package codec

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/golang/snappy"
)

var errLength = errors.New("length differs from the one announced")

// snappyBlock is Snappy's block format. It repeats the length, which costs four bytes and leaves
// the format unchanged.
type snappyBlock struct{}

func (snappyBlock) name() string { return "snappy" }

// ratio: a copy of up to 64 bytes takes three bytes; a copy of up to 11 takes two.
func (snappyBlock) ratio() int { return 22 }

func (snappyBlock) pack(dst, src []byte) []byte {
	most := snappy.MaxEncodedLen(len(src))
	if most < 0 { // above 4 GiB
		return append(dst, src...)
	}
	dst = slices.Grow(dst, most)
	n := len(dst)
	return dst[:n+len(snappy.Encode(dst[n:n+most], src))]
}

func (snappyBlock) unpack(dst, src []byte) error {
	// Decode allocates if its own length exceeds len(dst), so check first.
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return err
	}
	if n != len(dst) {
		return errLength
	}
	_, err = snappy.Decode(dst, src)
	return err
}

// deflate is RFC 1951. A writer has about 600 KB of tables and a reader 40 KB, so both are
// pooled. Each is pooled together with its sink or source. Clearing that releases the value
// without a second, costly Reset.
type deflate struct{}

type deflater struct {
	*flate.Writer
	dst []byte
}

// sink lets a deflater be the output of its own writer.
type sink struct{ d *deflater }

func (s sink) Write(p []byte) (int, error) {
	s.d.dst = append(s.d.dst, p...)
	return len(p), nil
}

type inflater struct {
	io.ReadCloser
	src  bytes.Reader
	rest [1]byte
}

var (
	deflaters = sync.Pool{New: func() any {
		d := new(deflater)
		d.Writer, _ = flate.NewWriter(sink{d}, flate.DefaultCompression) // fails only for an unknown level
		return d
	}}
	inflaters = sync.Pool{New: func() any {
		f := new(inflater)
		f.ReadCloser = flate.NewReader(&f.src)
		return f
	}}
)

func (deflate) name() string { return "deflate" }

// ratio: one bit for a match of 258 bytes and one for its distance make 1032 to 1. The rest is
// for the last, unfinished byte.
func (deflate) ratio() int { return 1040 }

func (deflate) pack(dst, src []byte) []byte {
	d := deflaters.Get().(*deflater)
	defer deflaters.Put(d)
	d.dst = slices.Grow(dst, len(src)/2)
	d.Reset(sink{d})
	_, _ = d.Write(src) // the sink never fails
	_ = d.Close()
	dst, d.dst = d.dst, nil
	return dst
}

func (deflate) unpack(dst, src []byte) error {
	f := inflaters.Get().(*inflater)
	defer inflaters.Put(f)
	f.src.Reset(src)
	defer f.src.Reset(nil)
	if err := f.ReadCloser.(flate.Resetter).Reset(&f.src, nil); err != nil {
		return err
	}
	if _, err := io.ReadFull(f, dst); err != nil {
		return err
	}
	// Reading one more byte shows whether the stream ends here, and reads its trailer.
	if n, err := f.Read(f.rest[:]); n != 0 || !errors.Is(err, io.EOF) {
		return errors.Join(errLength, err)
	}
	if f.src.Len() != 0 {
		return errLength
	}
	return nil
}

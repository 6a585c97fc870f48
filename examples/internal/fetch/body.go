package fetch

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"
)

// readBody reads a body and undoes its Content-Encoding, within limit bytes on
// both sides: a compressed bomb ends there, and so does a stream that is long and
// decodes to nothing. With cut, what is over the limit is left out; otherwise it is
// ErrTooLarge. wire is how much came over the network.
func readBody(resp *http.Response, limit int64, cut bool) (body []byte, wire int64, err error) {
	codings, err := contentCodings(resp.Header)
	if err != nil {
		return nil, 0, err
	}
	if len(codings) == 0 && !cut && resp.ContentLength > limit {
		return nil, 0, ErrTooLarge // it says so itself
	}
	in := &meter{r: resp.Body, left: limit + maxHeaderBytes}
	content, err := decode(in, codings)
	if err != nil {
		return nil, in.n, in.blame(err)
	}
	var b bytes.Buffer
	if n := resp.ContentLength; len(codings) == 0 && n > 0 && n <= limit {
		b.Grow(int(n) + bytes.MinRead) // what it announces is within bounds, and saves growing
	}
	_, err = b.ReadFrom(io.LimitReader(content, limit+1))
	switch over := int64(b.Len()) > limit; {
	case over && !cut:
		return nil, in.n, ErrTooLarge
	case over:
		b.Truncate(int(limit))
	case err != nil:
		return nil, in.n, in.blame(err)
	}
	return trimmed(b.Bytes()), in.n, nil
}

// trimmed returns a body without the room that growing has left behind it: it may
// stay in the cache for days, which counts only what is used.
func trimmed(body []byte) []byte {
	if cap(body)-len(body) > len(body)/8 {
		return bytes.Clone(body)
	}
	return body
}

// contentCodings returns what is to be undone, in that order.
func contentCodings(h http.Header) (codings []string, err error) {
	for c := range strings.SplitSeq(strings.Join(h.Values("Content-Encoding"), ","), ",") {
		switch c = strings.ToLower(strings.TrimSpace(c)); c {
		case "", "identity":
		case "gzip", "x-gzip", "deflate":
			codings = append([]string{c}, codings...)
		default:
			return nil, ErrEncoding // br among them: it was not asked for
		}
	}
	if len(codings) > 2 {
		return nil, ErrEncoding // nobody means that
	}
	return codings, nil
}

func decode(r io.Reader, codings []string) (io.Reader, error) {
	for _, c := range codings {
		b := bufio.NewReader(r)
		if _, err := b.Peek(1); err == io.EOF {
			return b, nil // nothing at all, which some send as gzip
		}
		var err error
		switch {
		case c != "deflate":
			r, err = gzip.NewReader(b)
		case isZlib(b):
			r, err = zlib.NewReader(b)
		default:
			// RFC 9110, section 8.4.1.2: some send deflate data without the zlib
			// wrapper that "deflate" means.
			r = flate.NewReader(b)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// isZlib looks for the header of RFC 1950.
func isZlib(b *bufio.Reader) bool {
	h, err := b.Peek(2)
	return err == nil && h[0]&0x0f == 8 && (int(h[0])<<8|int(h[1]))%31 == 0
}

// meter reads from the network, counts, and remembers whose fault an error is.
type meter struct {
	r    io.Reader
	left int64
	n    int64
	err  error // the network's, or the limit's
}

// Read reads from the network until the limit.
func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		m.err = ErrTooLarge
		return 0, m.err
	}
	if int64(len(p)) > m.left {
		p = p[:m.left]
	}
	n, err := m.r.Read(p)
	m.n += int64(n)
	m.left -= int64(n)
	if err != nil && err != io.EOF {
		m.err = err
	}
	return n, err
}

// blame tells apart what the network did to a body from what its sender did.
func (m *meter) blame(err error) error {
	switch {
	case errors.Is(m.err, ErrTooLarge):
		return ErrTooLarge
	case m.err != nil, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.Join(ErrTruncated, err)
	}
	return errors.Join(ErrEncoding, err)
}

package fetch

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"strings"
)

// read reads a body and undoes its Content-Encoding, within x.max bytes on both
// sides: a compressed bomb ends there, and so does a stream that is long and decodes
// to nothing. With x.cut, what is over the limit is left out; otherwise it is
// ErrTooLarge. With x.pack, what is read is compressed as it comes, so that there is
// never more of it in memory than is kept.
func (a *answer) read(resp *http.Response, x *exchange) error {
	codings, err := contentCodings(resp.Header)
	if err != nil {
		return err
	}
	if len(codings) == 0 && !x.cut && resp.ContentLength > x.max {
		return ErrTooLarge // it says so itself
	}
	in := &meter{r: resp.Body, left: x.max + maxHeaderBytes}
	defer func() { a.wire = in.n }()
	content, err := decode(in, codings)
	if err != nil {
		return in.blame(err)
	}
	k := newKept(x.pack)
	if n := resp.ContentLength; !x.pack && len(codings) == 0 && n > 0 && n <= x.max {
		k.buf.Grow(int(n)) // what it announces is within bounds, and saves growing
	}
	limit := x.max
	if !x.cut {
		limit++ // one more tells what is too long
	}
	n, err := io.Copy(k, io.LimitReader(content, limit))
	if n > x.max {
		return ErrTooLarge
	}
	if err != nil {
		return in.blame(err)
	}
	a.body, a.hash, a.size = k.close(), hex.EncodeToString(k.sum.Sum(nil)), n
	return nil
}

// kept takes a body as it is to be kept, and hashes it.
type kept struct {
	io.Writer
	sum hash.Hash
	buf bytes.Buffer
	zip *gzip.Writer // nil: it is kept as it came
}

func newKept(pack bool) *kept {
	k := &kept{sum: sha256.New()}
	var to io.Writer = &k.buf
	if pack {
		// The fastest level: markup is a tenth even then, and the origin's host waits.
		k.zip, _ = gzip.NewWriterLevel(&k.buf, gzip.BestSpeed) // the level is a good one
		to = k.zip
	}
	k.Writer = io.MultiWriter(k.sum, to)
	return k
}

// close returns what is to be kept.
func (k *kept) close() []byte {
	if k.zip != nil {
		_ = k.zip.Close() // to memory, which takes all
	}
	return trimmed(k.buf.Bytes())
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

package fetch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
)

// read reads a body and hashes it. a.max bounds its length, compressed and decompressed. A
// longer robots.txt is cut off; any other longer body is an error.
func (c polite) read(resp *http.Response, a *ask) (body *bytes.Buffer, hash string, err error) {
	coded := len(resp.Header["Content-Encoding"]) > 0
	if !coded && !a.rules && resp.ContentLength > a.max {
		return nil, "", ErrTooLarge // the Content-Length is already over the limit
	}
	in := &meter{r: resp.Body, left: a.max + maxHeaderBytes}
	defer func() { c.wired.Add(in.n) }()
	content, err := decoded(in, resp.Header)
	if err != nil {
		return nil, "", in.blame(err)
	}
	body = new(bytes.Buffer)
	to, sum := io.Writer(body), sha256.New()
	var zip *gzip.Writer
	if a.pack {
		zip, _ = gzip.NewWriterLevel(body, gzip.BestSpeed) // the level is valid
		to = zip
	}
	limit := a.max
	if !a.rules {
		limit++ // one more byte, to detect a body that is too long
	}
	n, err := io.Copy(io.MultiWriter(sum, to), io.LimitReader(content, limit))
	if n > a.max {
		return nil, "", ErrTooLarge
	}
	if err != nil {
		return nil, "", in.blame(err)
	}
	if zip != nil {
		_ = zip.Close() // a Buffer takes every write
	}
	return body, hex.EncodeToString(sum.Sum(nil)), nil
}

func decoded(r io.Reader, h http.Header) (io.Reader, error) {
	coding := strings.ToLower(strings.Join(h["Content-Encoding"], ","))
	if lookup(coding) != nil {
		return r, nil // a charset in the wrong header
	}
	switch coding {
	case "", "identity":
		return r, nil
	case "gzip", "x-gzip":
		b := bufio.NewReader(r)
		if _, err := b.Peek(1); err == io.EOF {
			return b, nil // an empty body, which some servers label as gzip
		}
		return newGunzip(b)
	}
	return nil, ErrEncoding
}

type meter struct {
	r       io.Reader
	left, n int64
	err     error // of the network, or of the limit
}

func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		m.err = ErrTooLarge
		return 0, m.err
	}
	n, err := m.r.Read(p[:min(int64(len(p)), m.left)])
	m.n += int64(n)
	m.left -= int64(n)
	if err != nil && err != io.EOF {
		m.err = err
	}
	return n, err
}

func (m *meter) blame(err error) error {
	switch {
	case errors.Is(m.err, ErrTooLarge):
		return ErrTooLarge
	case m.err != nil, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.Join(ErrTruncated, err)
	}
	return errors.Join(ErrEncoding, err)
}

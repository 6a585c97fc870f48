package fetch

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"golang.org/x/net/http/httpguts"
)

// question is a request as it is sent, and the key of its answer.
type question struct {
	key       string
	url       *url.URL
	accept    string
	header    http.Header
	robots    bool // obey robots.txt
	max       int64
	cut       bool // what is over max is cut off, not an error
	pack      bool // the body is kept compressed
	redirects int
}

func (c *Client) question(r Request) (*question, error) {
	u, err := c.parseURL(r.URL)
	if err != nil {
		return nil, err
	}
	q := &question{url: u, accept: cmp.Or(r.Accept, "*/*"), header: http.Header{}, robots: r.Robots, pack: r.Packed, max: c.cfg.MaxBytes, redirects: c.cfg.MaxRedirects}
	if r.MaxBytes > 0 {
		q.max = min(q.max, r.MaxBytes)
	}
	if !httpguts.ValidHeaderFieldValue(q.accept) {
		return nil, &Error{URL: redacted(u), Kind: ErrHeader, Detail: "Accept"}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		key, values := http.CanonicalHeaderKey(name), r.Header[name]
		if owned[key] || !httpguts.ValidHeaderFieldName(name) || !allValid(values) {
			return nil, &Error{URL: redacted(u), Kind: ErrHeader, Detail: strconv.QuoteToASCII(name)}
		}
		q.header[key] = append(q.header[key], values...)
	}
	q.key = q.hash(r.Version)
	return q, nil
}

// owned are the headers that the client sends, or that would change what an
// answer means.
var owned = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Connection": true, "Content-Length": true, "Content-Encoding": true, "Cookie": true,
	"Host": true, "If-Match": true, "If-Modified-Since": true, "If-None-Match": true, "If-Range": true, "If-Unmodified-Since": true,
	"Range": true, "Referer": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true, "User-Agent": true,
}

func allValid(values []string) bool {
	for _, v := range values {
		if !httpguts.ValidHeaderFieldValue(v) {
			return false
		}
	}
	return true
}

// hash returns the key of the answer: everything that changes it goes in, each
// part with its length, and comes out as something that tells nothing.
func (q *question) hash(version string) string {
	h := sha256.New()
	part := func(s string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	num := func(n int64) { part(string(binary.BigEndian.AppendUint64(nil, uint64(n)))) }
	part(q.url.String())
	part(version)
	part(q.accept)
	num(q.max)
	if q.robots {
		part("robots")
	}
	if q.pack {
		part("packed")
	}
	for _, name := range slices.Sorted(maps.Keys(q.header)) {
		part(name)
		num(int64(len(q.header[name])))
		for _, v := range q.header[name] {
			part(v)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

package fetch

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"time"
)

// Request says what to get. URL is required. Requests that differ in anything but
// MaxAge and Seen are cached apart.
type Request struct {
	// URL is absolute, http or https, without user information. A fragment is
	// ignored.
	URL string

	// Accept is the Accept header. Empty: "*/*".
	Accept string

	// Header is sent too, for example an Authorization. It goes to the origin of
	// URL alone: a redirect to another origin, or from https to http, is followed
	// without it. Headers that the client itself sends are refused. Nil: none.
	Header http.Header

	// Robots obeys robots.txt, on the way through redirects too. Crawlers set it;
	// readers of feeds that a person subscribed to need not.
	Robots bool

	// MaxAge is how old an answer in the cache may be, counted from the origin's
	// last confirmation of it. 0: the origin is asked, conditionally if the cache
	// holds a copy; callers who ask at the same time share one answer.
	MaxAge time.Duration

	// Version is the version of whatever reads the answer. Changing it makes the
	// cached copy and its validators unknown, so that a feed which did not change
	// is sent, and parsed, again.
	Version string

	// MaxBytes replaces Config.MaxBytes, downwards. 0: Config.MaxBytes.
	MaxBytes int64

	// Packed keeps the body compressed, in Response.Body and in the cache. It is
	// compressed while it comes, so that a long one is never in memory as a whole:
	// for what is read as a stream, see [Response.Open].
	Packed bool

	// Seen is the Hash of the last answer that the caller has dealt with. If set,
	// Response.NotModified says whether the body still is that one. Without it,
	// NotModified is relative to what was in the cache, which may be another
	// caller's, or something that this one failed to process. Empty: not set.
	Seen string
}

// Response is an answer with status 200 or 203. Every other status is an error.
type Response struct {
	// URL is where the answer came from, after redirects.
	URL string

	// Status is the status of the answer when its body was sent: 200 or 203, also
	// if it has been confirmed by a 304 since.
	Status int

	// ContentType is the Content-Type header, as it was sent.
	ContentType string

	// Body is the content without its Content-Encoding, in the charset that it
	// came in ([Text] makes it UTF-8). It is shared with the cache and must not be
	// changed. With Request.Packed it is gzip of that.
	Body []byte

	// Packed is the request's.
	Packed bool

	// Hash is the SHA-256 of the content, not packed, in lower-case hexadecimal.
	Hash string

	// ETag and LastModified are the origin's validators, verbatim; empty: none.
	ETag, LastModified string

	// NotModified says that the origin answered 304, or sent what it had sent
	// before; with Request.Seen, that the body is the one the caller knows. It is
	// false for an answer FromCache unless Seen says so.
	NotModified bool

	// FromCache says that the answer was in the cache and nobody was asked.
	FromCache bool

	// MovedTo is the final URL if there was a redirect and every one was permanent
	// (301 or 308), else empty. One observation proves little: adopt it after
	// several.
	MovedTo string

	// FreshFor is for how much longer the origin calls its answer fresh, by
	// Cache-Control or Expires: a lower bound for the next poll, to be capped by
	// whoever uses it. 0: it did not say, or it forbids reuse.
	FreshFor time.Duration

	// FetchedAt is when the origin was asked for this answer or confirmed it.
	FetchedAt time.Time

	// Wire is how many bytes of bodies this call has read from the network, before
	// decompression; 0 if another's call read them.
	Wire int64
}

// Open returns the content as a stream, packed or not. It may be called again for
// another one. An error means that a packed body was damaged where it was kept.
func (r Response) Open() (io.Reader, error) {
	if !r.Packed {
		return bytes.NewReader(r.Body), nil
	}
	z, err := gzip.NewReader(bytes.NewReader(r.Body))
	if err != nil {
		return nil, &Error{Kind: ErrEncoding, Err: err, Detail: "packed body"}
	}
	return z, nil
}

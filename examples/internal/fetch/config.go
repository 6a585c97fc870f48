package fetch

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/cache"
)

// Config says what a client is. Tiers and UserAgent are required; the rest has
// useful zero values.
type Config struct {
	// Tiers is where answers are cached. The client does not close it.
	// Clients that share it, or its remote tier, share their answers.
	Tiers *cache.Tiers

	// UserAgent is sent with every request. It should begin with a product token
	// and say where its operator can be found: "TwofoldDigest/1.0
	// (+https://example.org/bot)". The token, without the version, is the name
	// that robots.txt is searched for.
	UserAgent string

	// Timeout is the limit of one request on the wire, from its dial to the last
	// byte of its body. Waiting for the host's turn does not count; every redirect
	// is a request of its own. 0: 20 s.
	Timeout time.Duration

	// MaxBytes is the longest body that is accepted, after decompression.
	// 0: 15 MiB.
	MaxBytes int64

	// MaxRedirects is how many redirects one Get follows. 0: 3. Negative: none.
	MaxRedirects int

	// PerHost is how many requests to one host (name and port) run at a time.
	// 0: 2.
	PerHost int

	// HostDelay is the least time between the starts of two requests to one
	// host. 0: none, but for a Crawl-delay in a robots.txt that is obeyed.
	HostDelay time.Duration

	// MaxWait is how long one request may wait for its host's turn, before it
	// fails with [ErrBusy]. Who waits occupies one of the Tiers' MaxLoads, so a
	// program should ask for a bounded number of things at a time. 0: 5 minutes.
	MaxWait time.Duration

	// Keep is how long an answer is kept for its validators after it was last
	// confirmed. It should be longer than the longest interval between two polls
	// of one URL. 0: 8 days.
	Keep time.Duration

	// DeadFor is how long a host that did not resolve, refused the connection or
	// did not answer the dial is not asked again. 0: 1 minute.
	DeadFor time.Duration

	// AllowPrivate lets the client connect to loopback and private addresses, at
	// any port: for tests, demonstrations and origins of one's own. Link-local
	// addresses, where clouds keep their metadata, stay forbidden.
	AllowPrivate bool

	// Now tells the time of day, for dates in answers; durations are measured by
	// the machine's monotonic clock. Nil: [time.Now].
	Now func() time.Time

	// Logger gets what a Get's caller does not learn: never a body, a query or a
	// header. Nil: [slog.Default].
	Logger *slog.Logger

	// Transport answers requests in the place of the network, for tests. It goes
	// around the guard against private addresses. Nil: the network, guarded.
	Transport http.RoundTripper
}

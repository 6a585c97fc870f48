package record

import (
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// Fate says what to do with a response.
type Fate uint8

// The fates.
const (
	Refuse Fate = iota // only for the client whose own request it answers
	Fail               // 5xx: not stored; an older page may replace it
	Share              // for all waiting clients, not stored
	Store
	Renew // 304: the old page is confirmed
)

// Verdict is what the header of a response decides.
type Verdict struct {
	Fate Fate
	Why  reason.Reason // why it is not stored
	Mine bool          // of a failure: not for everybody

	// Held keeps back a response even if the handler flushes it, because an old page may be sent
	// instead.
	Held bool

	// With Shared: how long the response lives.
	Life  rules.Lifetime
	Names []string // of the request headers that select it
}

// Package reason names why a request did not use the cache, and why a response was not stored.
package reason

// Reason says why a request did not use the cache, or why a response was not stored. Cache-Status
// and Stats use its name.
type Reason uint8

// The reasons.
const (
	None Reason = iota

	// Why a request bypassed the cache.
	Method
	Nesting
	Program
	Credentials
	Range
	Precondition
	Body
	Upgrade
	Stream
	Host
	Path
	Query
	KeyLength
	Router // the handler is for this request only

	// Why a client got its own rendering.
	Off
	RequestNoStore
	Memory
	Closing
	Only // only-if-cached, and no response is stored
	Condition
	Head
	Ticket // the log does not say what the ticket of a request stands for

	// Why a response was not stored, although all waiting clients got it.
	PlainStatus

	// Why a response was neither stored nor shared.
	Status
	SetCookie
	Private
	NoStore
	NoCache
	BadCacheControl
	Vary
	EventStream
	Partial
	Trailer
	Connection
	TransferEncoding
	Length
	EarlyHints
	Control
	Silence
	Room
	Load    // something in the load says so, such as Fill.NoStore
	Context // its handler asked for a value of an outer handler's context

	// Why a response went straight to its client.
	Flush
	Size
	Slow

	// Why there was no response: the handler did not run, took too long, or the client left.
	Failure

	Count
)

var reasonNames = [Count]string{
	None:   "none",
	Method: "method", Nesting: "nested", Program: "program", Credentials: "credentials", Range: "range",
	Precondition: "precondition", Body: "request-body", Upgrade: "upgrade", Stream: "stream-asked-for",
	Host: "host", Path: "path", Query: "query", KeyLength: "key-too-long", Router: "router",
	Off: "off", RequestNoStore: "request-no-store", Memory: "not-cacheable-a-moment-ago", Closing: "closed", Only: "only-if-cached", Condition: "not-fresh", Head: "head", Ticket: "ticket",
	PlainStatus: "status-not-kept",
	Status:      "status", SetCookie: "set-cookie", Private: "private", NoStore: "no-store", NoCache: "no-cache",
	BadCacheControl: "bad-cache-control", Vary: "vary", EventStream: "event-stream", Partial: "partial",
	Trailer: "trailer", Connection: "connection", TransferEncoding: "transfer-encoding", Length: "length",
	EarlyHints: "early-hints", Control: "control", Silence: "no-lifetime", Room: "no-room", Load: "load", Context: "context",
	Flush: "flush", Size: "too-large", Slow: "slow",
	Failure: "unavailable",
}

// String returns the name that Cache-Status and Stats use.
func (r Reason) String() string { return reasonNames[r] }

// GoesOn reports whether a response that cannot be recorded for this reason may go on to the
// client that started the rendering. It was made for everybody, but it is too long, or does not
// end.
func (r Reason) GoesOn() bool { return r == Flush || r == Size || r == Room }

// Whole reports whether a response that is refused for this reason says all that it has to say.
func (r Reason) Whole() bool { return r != Partial && r != Length && r != Context }

package httpcache

// reason says why a request did not use the cache, or why a response was not stored. Cache-Status
// and Stats use its name.
type reason uint8

const (
	none reason = iota

	// Why a request bypassed the cache.
	byMethod
	byNesting
	byProgram
	byCredentials
	byRange
	byPrecondition
	byBody
	byUpgrade
	byStream
	byHost
	byPath
	byQuery
	byKeyLength

	// Why a client got its own rendering.
	byOff
	byRequestNoStore
	byMemory
	byClosing
	byOnly // only-if-cached, and no response is stored
	byCondition
	byHead

	// Why a response was not stored, although all waiting clients got it.
	byPlainStatus

	// Why a response was neither stored nor shared.
	byStatus
	bySetCookie
	byPrivate
	byNoStore
	byNoCache
	byBadCacheControl
	byVary
	byEventStream
	byPartial
	byTrailer
	byConnection
	byTransferEncoding
	byLength
	byEarlyHints
	byControl
	bySilence
	byRoom
	byLoad // something in the load says so, such as Fill.NoStore

	// Why a response went straight to its client.
	byFlush
	bySize
	bySlow

	// Why there was no response: the handler did not run, took too long, or the client left.
	byFailure

	reasons
)

var reasonNames = [reasons]string{
	none:     "none",
	byMethod: "method", byNesting: "nested", byProgram: "program", byCredentials: "credentials", byRange: "range",
	byPrecondition: "precondition", byBody: "request-body", byUpgrade: "upgrade", byStream: "stream-asked-for",
	byHost: "host", byPath: "path", byQuery: "query", byKeyLength: "key-too-long",
	byOff: "off", byRequestNoStore: "request-no-store", byMemory: "not-cacheable-a-moment-ago", byClosing: "closed", byOnly: "only-if-cached", byCondition: "not-fresh", byHead: "head",
	byPlainStatus: "status-not-kept",
	byStatus:      "status", bySetCookie: "set-cookie", byPrivate: "private", byNoStore: "no-store", byNoCache: "no-cache",
	byBadCacheControl: "bad-cache-control", byVary: "vary", byEventStream: "event-stream", byPartial: "partial",
	byTrailer: "trailer", byConnection: "connection", byTransferEncoding: "transfer-encoding", byLength: "length",
	byEarlyHints: "early-hints", byControl: "control", bySilence: "no-lifetime", byRoom: "no-room", byLoad: "load",
	byFlush: "flush", bySize: "too-large", bySlow: "slow",
	byFailure: "unavailable",
}

func (r reason) String() string { return reasonNames[r] }

// goesOn reports whether a response that cannot be recorded for this reason may go on to the
// client that started the rendering. It was made for everybody, but it is too long, or does not
// end.
func (r reason) goesOn() bool { return r == byFlush || r == bySize || r == byRoom }

// whole reports whether a response that is refused for this reason says all that it has to say.
func (r reason) whole() bool { return r != byPartial && r != byLength }

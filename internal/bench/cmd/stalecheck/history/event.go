// Package history records the events of the workers of a run, and checks them.
//
// A run is a set of reads and a set of invalidations, with the times at which each call began and
// returned on the machine's monotonic clock. Every value is a version of its key. At the source,
// versions only grow, and the source is written before the call of Invalidate. So a read that
// starts after the acknowledgement of version 8 and returns 7 is always stale, by the time in
// between.
//
// This check has no false positives. An invalidation that failed or never returned is not
// counted, and for a read its start counts. A read concurrent with an invalidation may return
// either version.
package history

import (
	"encoding/binary"
	"fmt"
)

// Type says what an event is about.
type Type uint8

// The types of events.
const (
	Read      Type = iota + 1 // a read that returned a value
	NoRead                    // a read that returned an error
	Acked                     // an invalidation that returned nil, for one key it covers
	Refused                   // an invalidation that returned an error, likewise
	Ping                      // one bare round trip to Redis, or to the database
	Committed                 // a committed transaction that invalidates, for one key it covers; the writer has waited for nothing more
	Alarm                     // an audit called a hit stale: Start is the start of its first load, which returned Version
)

// Tier says where the value of a read came from.
type Tier uint8

// The tiers. Some calls of the cache do not report the tier.
const (
	Untold Tier = iota
	Local
	Remote
	Load
)

// Tiers are all tiers, in the order of reports.
var Tiers = []Tier{Local, Remote, Load, Untold}

// String returns "local", "remote", "load", or "untold".
func (t Tier) String() string { return [...]string{"untold", "local", "remote", "load"}[t&3] }

// Kind says what an invalidation named.
type Kind uint8

// The kinds of invalidations.
const (
	Key Kind = iota + 1
	Prefix
	Tag
)

// Kinds are all kinds, in the order of reports.
var Kinds = []Kind{Key, Prefix, Tag}

// String returns "key", "prefix", "tag", or "none".
func (k Kind) String() string { return [...]string{"none", "key", "prefix", "tag"}[k&3] }

// Event is one event of a worker. Times are nanoseconds of the monotonic clock that all processes
// of a machine share.
type Event struct {
	Type    Type
	Tier    Tier   // of a read
	Kind    Kind   // of an invalidation
	Stale   bool   // of a read: the cache said that the value is not fresh
	Level   uint8  // of a read: 0 is a value of the source, 1 is built from it, 2 from that
	Proc    uint8  // the worker
	Key     uint16 // its number
	Op      uint32 // the number of the call among the worker's invalidations
	Version int64  // the version that a read returned, or the source's version when an invalidation began
	Start   int64  // when the call began
	End     int64  // when it returned: of an invalidation, its acknowledgement
	Age     int64  // of a read: nanoseconds since the value's load, if the call reports it
	MaxAge  int64  // of a read: the requested maximum age in nanoseconds; 0: none
}

// size is the size of an event in a file.
var size = binary.Size(Event{})

func (e *Event) append(b []byte) []byte {
	b, err := binary.Append(b, binary.BigEndian, e)
	if err != nil {
		panic(err) // every field has a fixed size
	}
	return b
}

func decode(b []byte, worker uint8) (e Event, err error) {
	_, err = binary.Decode(b, binary.BigEndian, &e)
	e.Proc = worker
	if err != nil || e.Type < Read || e.Type > Alarm || e.Tier > Load || e.Kind > Tag || e.End < e.Start {
		return e, fmt.Errorf("history: no event: % x", b)
	}
	return e, nil
}

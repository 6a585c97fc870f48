package redislog

import (
	"crypto/rand"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/twofold-go/twofold/invalidate"
)

// maxEpoch bounds epochs, as sync.lua does: what lies above is not ours.
const maxEpoch = 4_200_000_000

// entry is an entry of a stream, whoever wrote it.
type entry struct {
	id               string
	payload, prev, t string
	bump             bool   // prev is there
	ids              string // its own, and that of the entry before it
}

func (e *entry) set(name, value string) {
	switch name {
	case "d":
		e.payload = value
	case "b":
		e.prev, e.bump = value, true
	case "t":
		e.t = value
	case "i":
		e.ids = value
	}
}

// record makes a record of an entry that lies behind from. An entry whose id is
// no position stays at from: it cannot be ours, and a reader must not be led to
// a place that no later record reaches. The next Sync starts a new epoch.
func (e *entry) record(s stream, from invalidate.Position) invalidate.Record {
	at, ok := parseID(e.id)
	if !ok {
		return invalidate.Record{At: from, Damaged: true}
	}
	r := invalidate.Record{At: at, Bump: e.bump, Time: readNumber(e.t)}
	if len(e.ids) == 2*idSize {
		r.ID, r.After = parseRaw(e.ids[:idSize]), parseRaw(e.ids[idSize:])
	}
	if r.ID == 0 {
		return invalidate.Record{At: at, Damaged: true}
	}
	if e.bump {
		r.Prev, _ = parseID(e.prev) // an id of somebody else's is no position that anyone is at
		return r
	}
	r.Fences, ok = decode(e.payload, s)
	r.Damaged = !ok
	return r
}

func formatID(p invalidate.Position) string {
	b := strconv.AppendUint(make([]byte, 0, 24), uint64(p.Epoch()), 10)
	return string(strconv.AppendUint(append(b, '-'), uint64(p.N()), 10))
}

// parseID returns the position of an id; false where it is none of ours.
func parseID(id string) (invalidate.Position, bool) {
	e, n, ok := strings.Cut(id, "-")
	if !ok {
		return 0, false
	}
	epoch, err := strconv.ParseUint(e, 10, 32)
	if err != nil || epoch >= maxEpoch {
		return 0, false
	}
	number, err := strconv.ParseUint(n, 10, 32)
	if err != nil {
		return 0, false
	}
	return invalidate.At(uint32(epoch), uint32(number)), true
}

// idSize is the length of the id of a record or of an epoch.
const idSize = 8

// raw spells an id for the script, "" where it is not known.
func raw(id uint64) string {
	if id == 0 {
		return ""
	}
	return string(binary.BigEndian.AppendUint64(nil, id))
}

// parseRaw returns the id of a reply, 0 where it has none.
func parseRaw(s string) uint64 {
	if len(s) != idSize {
		return 0
	}
	return binary.BigEndian.Uint64([]byte(s))
}

// newID returns a random id, which is never zero.
func newID() uint64 {
	for {
		var b [idSize]byte
		_, _ = rand.Read(b[:]) // documented never to fail
		if id := binary.BigEndian.Uint64(b[:]); id != 0 {
			return id
		}
	}
}

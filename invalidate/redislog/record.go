package redislog

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
)

// maxEpoch bounds epochs, as sync.lua does: the log writes no epoch above it.
const maxEpoch = 4_200_000_000

// entry is an entry of a stream. Another program may have written it.
type entry struct {
	id               string
	payload, prev, t string
	bump             bool   // prev is set
	ids              string // its own id, and that of the entry before it
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

// record makes a record of an entry after from. An entry whose id is not a position was written
// by another program. Its record stays at from, because no later record reaches a position that
// such an id would give. The next Sync starts a new epoch.
func (e *entry) record(ofKeys bool, from invalidate.Position) invalidate.Record {
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
		r.Prev, _ = parseID(e.prev) // 0 for an id that the log does not write: no process is at that position
		return r
	}
	r.Fences, ok = logwire.Decode(e.payload, ofKeys)
	r.Damaged = !ok
	return r
}

func formatID(p invalidate.Position) string {
	b := strconv.AppendUint(make([]byte, 0, 24), uint64(p.Epoch()), 10)
	return string(strconv.AppendUint(append(b, '-'), uint64(p.N()), 10))
}

// parseID returns the position of an id, and false for an id that the log does not write.
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

// rawIDs returns ids as the script takes them, "" for an unknown id.
func rawIDs(ids ...uint64) (out [6]string) {
	var memory [6 * idSize]byte
	b := memory[:0]
	for _, id := range ids {
		b = binary.BigEndian.AppendUint64(b, id)
	}
	text := string(b)
	for i, id := range ids {
		if id != 0 {
			out[i] = text[i*idSize : (i+1)*idSize]
		}
	}
	return out
}

// parseRaw returns the id in a reply, 0 for none.
func parseRaw(s string) uint64 {
	if len(s) != idSize {
		return 0
	}
	return binary.BigEndian.Uint64([]byte(s))
}

package redislog

import (
	"fmt"
	"strconv"
	"time"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
)

// question is what a Sync sends: the caller's cursor, the payloads to append, and new ids.
type question struct {
	at                   invalidate.Cursor
	keys, scopes         string // payloads
	epoch, keyID, scopID uint64 // new ids
}

// replySize is the number of elements that sync.lua returns, and shortSize that of its short reply. A log
// of another version has versionSize elements.
const (
	replySize   = 13
	shortSize   = 3
	versionSize = 1
)

// noWitness is the last element of the reply when the server has no witness.
const noWitness = "-"

// readReply reads what sync.lua returns. A record that does not decode is damaged. Only a reply
// that the script cannot have sent is an error.
func readReply(reply []any, q question) (p invalidate.Page, err error) {
	if len(reply) == shortSize && q.keys+q.scopes != "" {
		return readShort(reply, &q)
	}
	if len(reply) != replySize {
		return p, fmt.Errorf("%w: %d elements for a sync", ErrReply, len(reply))
	}
	if p.Keys, err = readEntries(reply[0], true, q.at.Key); err != nil {
		return p, err
	}
	if p.Scopes, err = readEntries(reply[1], false, q.at.Scope); err != nil {
		return p, err
	}
	more, ok := reply[2].(int64)
	if !ok {
		return p, fmt.Errorf("%w: a %T for More", ErrReply, reply[2])
	}
	p.More = more != 0
	if p.Key, err = readOwn(reply[3]); err != nil {
		return p, err
	}
	if p.Scope, err = readOwn(reply[4]); err != nil {
		return p, err
	}
	p.Now, p.Bound = readNumber(reply[5]), readBound(reply[6])
	p.End, err = readEnd(reply[7:12])
	return p, err
}

// readShort reads a short reply: the log was where the caller thought, and has its records now.
func readShort(reply []any, q *question) (p invalidate.Page, err error) {
	if p.Now, p.Bound, p.End = readNumber(reply[0]), readBound(reply[1]), q.at; p.Now == 0 || p.Bound == 0 {
		return p, fmt.Errorf("%w: no time for a sync", ErrReply)
	}
	if q.keys != "" {
		r := invalidate.Record{At: q.at.Key + 1, ID: q.keyID, After: q.at.KeyID, Time: p.Now}
		r.Fences, _ = logwire.Decode(q.keys, true)
		p.Keys, p.Key, p.End.Key, p.End.KeyID = []invalidate.Record{r}, r.At, r.At, r.ID
	}
	if q.scopes != "" {
		r := invalidate.Record{At: q.at.Scope + 1, ID: q.scopID, After: q.at.ScopeID, Time: p.Now}
		r.Fences, _ = logwire.Decode(q.scopes, false)
		p.Scopes, p.Scope, p.End.Scope, p.End.ScopeID = []invalidate.Record{r}, r.At, r.At, r.ID
	}
	return p, nil
}

// readBound reads a bound. Another program may have written it: Settle must not wait for an hour
// because of it.
func readBound(reply any) time.Duration {
	return time.Duration(min(readNumber(reply), MaxBound.Milliseconds())) * time.Millisecond
}

// readStored splits off the last element of the reply of a step that stores a cell.
func readStored(reply []any) ([]any, invalidate.Stored, error) {
	n := len(reply) - 1
	if n != replySize && n != shortSize {
		return nil, 0, fmt.Errorf("%w: %d elements for a sync that stores", ErrReply, len(reply))
	}
	how, ok := reply[n].(int64)
	if !ok || how < int64(invalidate.Claimed) || how > int64(invalidate.Filled) {
		return nil, 0, fmt.Errorf("%w: a %T for a cell", ErrReply, reply[n])
	}
	return reply[:n], invalidate.Stored(how), nil //nolint:gosec // one of two
}

// readEnd reads where the log ends: the epoch's id, the last position of each stream, and the ids
// of the records there.
func readEnd(reply []any) (end invalidate.Cursor, err error) {
	var text [5]string
	for i := range text {
		text[i], _ = reply[i].(string)
	}
	var keys, scopes bool
	end.Key, keys = parseID(text[1])
	end.Scope, scopes = parseID(text[2])
	end.Epoch, end.KeyID, end.ScopeID = parseRaw(text[0]), parseRaw(text[3]), parseRaw(text[4])
	if !keys || !scopes || end.Epoch == 0 || end.KeyID == 0 || end.ScopeID == 0 {
		return end, fmt.Errorf("%w: no end of the log", ErrReply)
	}
	return end, nil
}

// readEntries reads a list of records of the stream of keys, or of the other.
func readEntries(reply any, ofKeys bool, from invalidate.Position) ([]invalidate.Record, error) {
	list, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("%w: a %T for records", ErrReply, reply)
	}
	if len(list) == 0 {
		return nil, nil
	}
	records := make([]invalidate.Record, 0, len(list))
	for _, item := range list {
		e, err := readEntry(item)
		if err != nil {
			return nil, err
		}
		r := e.record(ofKeys, from)
		from = r.At
		records = append(records, r)
	}
	return records, nil
}

// readEntry reads an id and a list of names and values.
func readEntry(item any) (e entry, err error) {
	pair, _ := item.([]any)
	if len(pair) != 2 {
		return e, fmt.Errorf("%w: a %T for a record", ErrReply, item)
	}
	var ok bool
	if e.id, ok = pair[0].(string); !ok {
		return e, fmt.Errorf("%w: a %T for an id", ErrReply, pair[0])
	}
	fields, ok := pair[1].([]any)
	if !ok {
		return e, fmt.Errorf("%w: a %T for fields", ErrReply, pair[1])
	}
	for i := 0; i+1 < len(fields); i += 2 {
		name, _ := fields[i].(string)
		value, _ := fields[i+1].(string)
		e.set(name, value)
	}
	return e, nil
}

// readOwn reads the position of the record that this sync appended; 0 for none.
func readOwn(reply any) (invalidate.Position, error) {
	id, ok := reply.(string)
	if id == "" && ok {
		return 0, nil
	}
	at, ok := parseID(id)
	if !ok {
		return 0, fmt.Errorf("%w: no id of the record appended", ErrReply)
	}
	return at, nil
}

// readNumber reads an optional number; 0 when it is missing or invalid.
func readNumber(reply any) int64 {
	text, _ := reply.(string)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

package redislog

import (
	"fmt"
	"strconv"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// readReply reads what sync.lua returns: a page and the mark of its epoch; keys
// and scopes are the payloads it was told to append. Records that do not decode
// are damaged; only what cannot have come from the script is an error.
func readReply(reply []any, at invalidate.Cursor, keys, scopes string) (p invalidate.Page, mark string, err error) {
	if len(reply) != 8 {
		return p, "", fmt.Errorf("%w: %d elements for a sync", ErrReply, len(reply))
	}
	own := func(i int, payload string) entry {
		id, _ := reply[i].(string)
		t, _ := reply[5].(string)
		return entry{id: id, t: t, payload: payload}
	}
	if p.Keys, err = readEntries(reply[0], keyStream, at.Key, own(3, keys)); err != nil {
		return p, "", err
	}
	if p.Scopes, err = readEntries(reply[1], scopeStream, at.Scope, own(4, scopes)); err != nil {
		return p, "", err
	}
	more, ok := reply[2].(int64)
	if !ok {
		return p, "", fmt.Errorf("%w: a %T for whether there is more", ErrReply, reply[2])
	}
	p.More = more != 0
	if p.Key, err = readOwn(reply[3]); err != nil {
		return p, "", err
	}
	if p.Scope, err = readOwn(reply[4]); err != nil {
		return p, "", err
	}
	p.Now = readNumber(reply[5])
	// What somebody else may have written is no reason to wait for an hour.
	p.Bound = time.Duration(min(readNumber(reply[6]), MaxBound.Milliseconds())) * time.Millisecond
	mark, _ = reply[7].(string)
	return p, mark, nil
}

// readEntries reads a list of records, or makes one of what the caller appended
// where there is nothing else.
func readEntries(reply any, kind stream, from invalidate.Position, own entry) ([]invalidate.Record, error) {
	if _, alone := reply.(int64); alone {
		if own.id == "" {
			return nil, nil
		}
		return []invalidate.Record{own.record(kind, from)}, nil
	}
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
		r := e.record(kind, from)
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

// readOwn reads the id of what this sync appended, if it did.
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

// readNumber reads a number that is only of use when it is there.
func readNumber(reply any) int64 {
	text, _ := reply.(string)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

package redislog

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/invalidate"
)

// tailRecords is the most records of each stream that one Tail returns.
const tailRecords = 1000

// Tail waits until there are records after at, and returns them; see [invalidate.Log]. It is one
// XREAD, which waits for a quarter of Bound and then returns an empty page. When the server does
// not answer, Tail fails within half of Bound. Its pages have neither Now nor Bound.
func (l *Log) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	p, err := l.tail(ctx, at)
	return p, l.fail("tail", err)
}

func (l *Log) tail(ctx context.Context, at invalidate.Cursor) (p invalidate.Page, err error) {
	if err := l.ready(ctx); err != nil {
		return p, err
	}
	block := l.cfg.Bound / 4
	args := redis.XReadArgs{
		Streams: []string{l.keys[1], l.keys[2], formatID(at.Key), formatID(at.Scope)},
		Count:   tailRecords,
		Block:   block,
	}
	// By default, the client library gives a blocking read ten seconds more than its time.
	return l.do(ctx, 2*block, func(ctx context.Context) (invalidate.Page, error) {
		streams, err := l.control.XRead(ctx, &args).Result()
		if errors.Is(err, redis.Nil) {
			return invalidate.Page{}, nil
		}
		return l.readStreams(streams, at), err
	})
}

// readStreams reads the reply of XREAD, which omits streams without new entries.
func (l *Log) readStreams(streams []redis.XStream, at invalidate.Cursor) (p invalidate.Page) {
	for _, s := range streams {
		out, ofKeys, from := &p.Keys, true, at.Key
		switch s.Stream {
		case l.keys[1]:
		case l.keys[2]:
			out, ofKeys, from = &p.Scopes, false, at.Scope
		default:
			continue
		}
		for _, m := range s.Messages {
			e := entry{id: m.ID}
			for name, v := range m.Values {
				text, _ := v.(string)
				e.set(name, text)
			}
			r := e.record(ofKeys, from)
			from = r.At
			*out = append(*out, r)
		}
	}
	return p
}

package redislog_test

import (
	"math"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
)

func TestIDs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]invalidate.Position{
		"0-0": 0, "1-2": invalidate.At(1, 2),
		"4199999999-4294967295": invalidate.At(4_199_999_999, math.MaxUint32),
	} {
		if got, ok := redislog.ParseID(text); !ok || got != want || redislog.FormatID(want) != text {
			t.Errorf("ParseID(%q) = %v, %v; FormatID = %q", text, got, ok, redislog.FormatID(want))
		}
	}
	for _, text := range []string{
		"", "-", "1", "1-", "-1", "1-2-3", "a-1", "1-a", "+1-1", " 1-1", "1-1 ", "1.5-0",
		"4200000000-0", "1-4294967296", "1700000000000-0", "18446744073709551616-0", strings.Repeat("1", 1000) + "-0",
	} {
		if got, ok := redislog.ParseID(text); ok {
			t.Errorf("ParseID(%q) = %v, want none", text, got)
		}
	}
}

// reply makes a server's reply from bytes, partly in the form of sync.lua's reply.
func reply(b *[]byte, depth int) any {
	next := func() byte {
		if len(*b) == 0 {
			return 0
		}
		c := (*b)[0]
		*b = (*b)[1:]
		return c
	}
	text := func() string {
		n := min(int(next()%24), len(*b))
		s := string((*b)[:n])
		*b = (*b)[n:]
		return s
	}
	switch kind := next(); kind % 8 {
	case 0:
		return nil
	case 1:
		return int64(next())
	case 2:
		return text()
	case 3:
		return []string{"d", "b", "t", "1-1", "0-0", "9999999999-1"}[int(next())%6]
	case 4:
		return 1.5
	default:
		list := make([]any, 0, 8)
		for range int(kind/8) % 9 {
			if depth > 0 {
				list = append(list, reply(b, depth-1))
			}
		}
		return list
	}
}

// Every answer of a server is read or refused.
func FuzzReadReply(f *testing.F) {
	f.Add([]byte("\x45\x05\x05\x01\x01\x03\x03\x03\x03"))
	f.Add([]byte("\x45\x0d\x15\x03\x03\x15\x03\x00\x02\x09\x01aaaaaaaa\x05\x01\x00\x03\x03\x03\x04\x03\x04"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list := make([]any, redislog.ReplySize)
		for i := range list {
			list[i] = reply(&b, 4)
		}
		if len(b) > 0 && b[0]%2 == 0 { // add the end of a log; readReply then reads the rest
			copy(list[7:12], []any{"aaaaaaaa", "7-9", "8-9", "bbbbbbbb", "cccccccc"})
		}
		from := invalidate.Cursor{Key: invalidate.At(7, 7), Scope: invalidate.At(8, 8), KeyID: 5, ScopeID: 6}
		p, err := redislog.ReadReply(list, from, "k t:n:1", "")
		if err != nil {
			return
		}
		for _, r := range append(p.Keys, p.Scopes...) {
			if r.Bump != (len(r.Fences) == 0 && !r.Damaged) || r.Damaged && r.Fences != nil || r.Time < 0 {
				t.Errorf("record %+v", r)
			}
		}
		if p.Bound < 0 || p.Bound > redislog.MaxBound || p.Now < 0 {
			t.Errorf("Bound = %v, Now = %d", p.Bound, p.Now)
		}
	})
}

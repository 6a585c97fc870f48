package redislog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate"
)

func TestFirstSyncStartsAnEpoch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.process()
	p.wantBump()
	if got := p.keys[0]; got.Prev != 0 || got.Time == 0 || got.Damaged || got.Fences != nil {
		t.Errorf("first record = %+v, want a bump with nothing before it, with its time", got)
	}
	if p.at.Key.Epoch() != 1 { // the log asks no clock
		t.Errorf("the first epoch has number %d, want 1", p.at.Key.Epoch())
	}
	r.process().wantBump() // the same epoch
}

// After every change of the keys, the next Sync starts one epoch, above every known number, and
// the log works as before.
func TestDamageStartsAnEpoch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, tc := range []struct {
		name   string
		damage func(p *process)
	}{
		{"all keys", func(*process) { r.do("DEL", r.m, r.k, r.s) }},
		{"meta hash", func(*process) { r.do("DEL", r.m) }},
		{"key stream", func(*process) { r.do("DEL", r.k) }},
		{"scope stream", func(*process) { r.do("DEL", r.s) }},
		{"key stream trimmed to nothing", func(*process) { r.do("XTRIM", r.k, "MAXLEN", 0) }},
		{"scope stream trimmed to nothing", func(*process) { r.do("XTRIM", r.s, "MAXLEN", 0) }},
		{"last record deleted", func(p *process) { r.do("XDEL", r.k, id(p.at.Key)) }},
		{"another run id", func(*process) { r.do("HSET", r.m, "run", strings.Repeat("a", 40)) }},
		{"run id lost", func(*process) { r.do("HDEL", r.m, "run") }},
		{"epoch lost", func(*process) { r.do("HDEL", r.m, "ep") }},
		{"epoch is a word", func(*process) { r.do("HSET", r.m, "ep", "nan") }},
		{"epoch is infinite", func(*process) { r.do("HSET", r.m, "ep", "inf") }},
		{"epoch is negative", func(*process) { r.do("HSET", r.m, "ep", "-5") }},
		{"epoch is higher", func(p *process) { r.do("HSET", r.m, "ep", p.at.Key.Epoch()+1) }},
		{"last id is a word", func(*process) { r.do("HSET", r.m, "kl", "x") }},
		{"another replication id", func(*process) { r.do("HSET", r.m, "rep", strings.Repeat("a", 40)) }},
		{"id lost", func(*process) { r.do("HDEL", r.m, "id") }},
		{"another id", func(*process) { r.do("HSET", r.m, "id", "12345678") }},
		{"another last id", func(*process) { r.do("HSET", r.m, "ki", "12345678") }},
		{"witness lost", func(*process) { r.do("HDEL", r.m, "wit") }},
		{"the last record rewritten", func(p *process) {
			r.do("XDEL", r.k, id(p.at.Key))
			r.do("DEL", r.k)
			r.do("XADD", r.k, id(p.at.Key), "t", "1", "d", "\x01aaaaaaaa", "i", "1234567812345678")
		}},
		{"a foreign record", func(p *process) { r.do("XADD", r.k, id(p.at.Key+1), "name", "value") }},
		{"a foreign epoch", func(p *process) { r.do("XADD", r.s, id(p.at.Scope+invalidate.At(10, 0)), "d", "x") }},
		{"a foreign id by the clock", func(*process) { r.do("XADD", r.k, "*", "name", "value") }},
		{"the last id there is", func(*process) { r.do("XADD", r.s, "18446744073709551615-18446744073709551615", "n", "v") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := r.process()
			p.t = t
			p.sync(both(1))
			p.sync(both(2))
			before := p.at
			tc.damage(p)
			p.wantBump()
			if page := p.sync(both(3)); page.Key != p.at.Key || page.Key.N() != 1 || page.Key < before.Key {
				t.Errorf("the next record is at %s after %s", id(page.Key), id(before.Key))
			}
			fresh := r.process()
			fresh.sync(invalidate.Append{})
			if fresh.at != p.at {
				t.Errorf("a new process ends at %v, want %v", fresh.at, p.at)
			}
		})
	}
}

func id(p invalidate.Position) string { return fmt.Sprintf("%d-%d", p.Epoch(), p.N()) }

// Redis remembers the highest id of a stream, also after the record is gone, and accepts no lower
// id. Only the next append shows that.
func TestForeignRecordDeletedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.started(1)
	for _, stream := range []string{r.k, r.s} {
		r.do("XDEL", stream, r.do("XADD", stream, "*", "name", "value"))
		p.wantQuiet()
		before := p.at
		page := p.sync(both(2))
		if page.Key.Epoch() <= before.Key.Epoch() && page.Scope.Epoch() <= before.Scope.Epoch() {
			t.Errorf("records at %s and %s, want a new epoch", id(page.Key), id(page.Scope))
		}
		p.wantQuiet()
	}
	other := r.process()
	other.sync(invalidate.Append{})
	wantDense(t, "keys", other.keys, map[uint64]bool{2: true})
	if other.at != p.at {
		t.Errorf("a new process ends at %v, want %v", other.at, p.at)
	}
}

func TestFlushallStartsAnEpoch(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Args("--maxmemory", "0")) // a server of its own
	p := r.started(3)
	r.do("FLUSHALL")
	p.wantBump()
}

// A record that is missing in the middle is no reason for an epoch: the reader sees the gap.
func TestTrimmedRecordsShow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.started(2)
	late := r.process()
	late.sync(invalidate.Append{})
	for i := range 5 {
		p.sync(both(uint64(i)))
	}
	r.do("XTRIM", r.k, "MAXLEN", 2)
	r.do("XDEL", r.s, id(p.at.Scope-1))
	keys, scopes := late.news()
	if len(keys) != 2 || keys[0].Bump || len(scopes) != 4 {
		t.Fatalf("read %v and %v, want what is left", keys, scopes)
	}
	if gap(late.keys) == nil || gap(late.scopes) == nil {
		t.Error("the missing records leave no gap")
	}
	p.wantQuiet()
}

// A server may lose everything, start over and issue the same numbers within a second. A process
// that knows the old records must not take the new ones for them.
func TestEpochOfTheSameNumber(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.started(3)
	run, rep := r.do("HGET", r.m, "run"), r.do("HGET", r.m, "rep")
	epoch, last := p.at.Key.Epoch(), id(p.at.Key+5)
	r.do("DEL", r.m, r.k, r.s)
	for _, stream := range []string{r.k, r.s} {
		r.do("XADD", stream, id(invalidate.At(epoch, 0)), "t", "1", "b", "", "i", "another!\x00\x00\x00\x00\x00\x00\x00\x00")
		r.do("XADD", stream, last, "t", "1", "d", "x", "i", map[string]string{r.k: "othrkey!", r.s: "othrscp!"}[stream]+"another!")
	}
	r.do("HSET", r.m, "run", run, "rep", rep, "ep", epoch, "kl", last, "sl", last,
		"id", "another!", "ki", "othrkey!", "si", "othrscp!", "wit", "-", "v", "3")
	r.process().sync(invalidate.Append{}) // a process that knows nothing notices nothing
	if got := r.do("HGET", r.m, "kl"); got != last {
		t.Fatalf("the log ends at %v, want %v as before", got, last)
	}
	p.wantBump()
}

// The caller is ahead of the log: its process was restored, or it talked to another server before.
func TestCallerAhead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.started(2)
	ahead := r.process()
	ahead.at = invalidate.Cursor{Key: p.at.Key, Scope: p.at.Scope + 7}
	ahead.wantBump()
	p.wantBump()
}

func TestCursorThatNoLogReaches(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.started(1)
	before := p.at
	p.at.Key = invalidate.At(4_200_000_000, 0)
	if _, err := p.trySync(invalidate.Append{}); err == nil {
		t.Error("Sync = nil, want an error")
	}
	p.at = before
	p.wantQuiet()
}

// Positions have 32 bits for the number.
func TestNumbersRunOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.started(1)
	epoch := p.at.Key.Epoch()
	for _, n := range []uint32{4_199_999_998, 4_199_999_999} {
		last := id(invalidate.At(epoch, n))
		r.do("XADD", r.s, last, "t", "1", "d", "x", "i", last[:8]+last[:8])
		r.do("HSET", r.m, "sl", last, "si", last[:8])
	}
	p.sync(invalidate.Append{})
	if page := p.sync(both(2)); page.Scope != invalidate.At(epoch, 4_200_000_000) {
		t.Fatalf("record at %s, want the last number of epoch %d", id(page.Scope), epoch)
	}
	if page := p.sync(both(3)); page.Scope != page.Key || page.Scope.N() != 1 || page.Scope.Epoch() <= epoch {
		t.Errorf("records at %s and %s, want number 1 of a new epoch", id(page.Key), id(page.Scope))
	}
}

// A server that comes back with an old dump has lost the records that were appended after the dump.
func TestRestartFromADump(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Args("--dbfilename", "dump.rdb"))
	p := r.started(3)
	behind := r.process()
	behind.sync(invalidate.Append{})
	r.do("SAVE")
	p.sync(both(4))
	lost := p.at
	r.server.Restart(t)
	behind.wantBump() // its cursor is where the dump ends
	if page := behind.sync(both(5)); page.Key == lost.Key || page.Scope == lost.Scope {
		t.Errorf("position %s is issued twice", id(lost.Key))
	}
	if keys, scopes := p.news(); len(keys) != 2 || !keys[0].Bump || len(scopes) != 2 || !scopes[0].Bump {
		t.Errorf("the process that knew the lost record reads %v and %v, want a bump and a record", keys, scopes)
	}
	if err := gap(behind.keys); err != nil {
		t.Errorf("bump of a process that was at the end of the dump: %v", err)
	}
	if gap(p.keys) == nil {
		t.Error("the lost record leaves no gap")
	}
}

func TestRestartEmpty(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Args("--maxmemory", "0"))
	p := r.started(3)
	r.server.Restart(t)
	p.wantBump()
}

func TestScriptFlush(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Args("--maxmemory", "0"))
	p := r.started(1)
	r.do("SCRIPT", "FLUSH")
	p.sync(both(2))
	if err := gap(p.keys); err != nil || p.at.Key.N() != 2 {
		t.Errorf("at %s, %v; want the second record", id(p.at.Key), err)
	}
}

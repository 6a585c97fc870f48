package redislog_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/key"
)

// caller is a program that knows the function and nothing else of the library.
type caller struct {
	*rig
	rdb  redis.UniversalClient
	eval bool // it sends the text: the server has no functions
}

func (r *rig) caller() caller {
	r.t.Helper()
	c := caller{rig: r, rdb: r.server.Client()}
	err := redislog.Install(r.t.Context(), c.rdb)
	if c.eval = errors.Is(err, redislog.ErrNoFunctions); err != nil && !c.eval {
		r.t.Fatal(err)
	}
	return c
}

// command returns the call that names lines, with cells.
func (c caller) command(cells []string, lines ...string) []any {
	return c.commandOf(append([]string{c.m, c.k, c.s}, cells...), lines...)
}

func (c caller) commandOf(keys []string, args ...string) []any {
	command := []any{"FCALL", "twofold_invalidate", len(keys)}
	if c.eval {
		_, script, _ := strings.Cut(redislog.Function(), "\n")
		command = []any{"EVAL", script, len(keys)}
	}
	for _, s := range slices.Concat(keys, args) {
		command = append(command, s)
	}
	return command
}

func (c caller) try(cells []string, lines ...string) error {
	return c.rdb.Do(c.t.Context(), c.command(cells, lines...)...).Err()
}

func (c caller) call(cells []string, lines ...string) {
	c.t.Helper()
	if err := c.try(cells, lines...); err != nil {
		c.t.Fatalf("%.100q: %v", lines[0], err)
	}
}

// decode returns the fence of a line, and the stream that it belongs to. It returns false for a line that the log
// does not write.
func decode(line string) (f invalidate.Fence, ok bool) {
	for _, ofKeys := range []bool{true, false} {
		if fences, ok := logwire.Decode(line, ofKeys); ok && len(fences) == 1 {
			return fences[0], true
		}
	}
	return f, false
}

// canonical are lines that the function takes. Those of other tests, changed at random, test where it stops.
func canonical() []string {
	long := strings.Repeat("x", key.MaxLen)
	return []string{
		"k default:users:v1:42", "k~ default:users:v1:42", `k acme:a\\b:%0A%20%25é世%FF~`, "k a b:n:\U0010FFFF", "k t:\u00a0:1", "k " + long[:key.MaxLen-4] + ":n:1",
		"k t:n:" + long[:key.MaxLen-4], "k t:n%41:%C3(é", "k t~:x:y:z", "k a:::%3A"[:4] + "n:%3A%7B%7D%7F",
		"p default:users:v1:", "p~ default:users:v1:4", "p acme:", "p~ acme:", `p acme:caf\xc3`, "p a::", "p t:" + long[:key.MaxLen-2], "p " + long[:key.MaxLen-1] + ":",
		"t default:org:7", "t~ default:org:7", `t acme:a b\x0a\x7f世界\\x0a`, "t a\\x00\\xff~:x ", "t {}::", "t t:" + long[:invalidate.MaxTagLen], "t " + long + ":x",
		"a", "a~",
	}
}

var refused = []string{
	"", " ", "a ", "a\n", "a x", "a~~", "A", "x acme:users:1", "- acme:users:1", "t", "t ", "t acme", "t :x", "t acme:", "tacme:x", "t acme:x\n", "~t acme:x",
	"t acme:\xff", `t acme:\xff`, `t acme:\xed\xa0\x80`, "t acme:\t", `t acme:\`, `t acme:\n`, `t acme:\x`, `t acme:\x0`, `t acme:\x0A`, `t acme:\x41`, `t acme:\xg0`,
	`t acme:\xc3\xa9`, `t acme:\x5c`, "p", "p acme", "p :users", "p acme:\n", "t acme:\x00", "t acme:x\x7f", "p acme:\xf4\x90\x80\x80", "p acme:\xc0\x80", "p acme:\xe0\x80\x80",
	"k acme:users", "k acme:users:", "k acme::1", "k acme::users:1", "k acme:users::1", "k acme:us{ers:1", "k ac}me:users:1", "k :users:1", "k acme:users:a b",
	"k acme:users:%41", "k acme:users:%0a", "k acme:users:%", "k acme:users:%4", "k acme:users:%zz", "k acme:users:%C3%A9", "k acme:users:{1}", "k acme:users:\x80",
	"k acme:us\u0085ers:1", "k acme:us\\x0aers:1", `k acme:us\xffers:1`, `k acme:users:\x01`, "k a\u009f:users:1",
	"t t:" + strings.Repeat("x", invalidate.MaxTagLen+1), "p t:" + strings.Repeat("x", key.MaxLen-1), "k t:n:" + strings.Repeat("x", key.MaxLen-3),
	"t " + strings.Repeat("x", key.MaxLen+1) + ":x", "unlinked",
}

// changed returns a line with a few random changes.
func changed(d *rand.Rand, line string) string {
	parts := []string{
		"", "\\", "\\\\", "\\x", "\\x0a", "\\xff", "%", "%3A", "%3a", ":", "::", "{", "}", "~", " ", "\x00", "\x1f", "\x7f", "\x80", "\xa0", "\xbf", "\xc2", "\xc3", "\xe0",
		"\xed", "\xf0", "\xf4", "\xff", "é", "\u0085", "世", "\U00010000", "0", "a", "F", "k", "t",
	}
	for range 1 + d.IntN(3) {
		at := d.IntN(len(line) + 1)
		line = line[:at] + parts[d.IntN(len(parts))] + line[min(at+d.IntN(3), len(line)):]
	}
	return line
}

// The function takes exactly the lines that the log writes, by the Go code, and they arrive as they are.
func TestFunctionAgreesWithGo(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	d := rand.New(rand.NewPCG(seed, 2))
	r := newRig(t)
	reader, c := r.started(1), r.caller()
	lines := slices.Concat(canonical(), refused)
	for i := range 8000 {
		from := canonical()[i%len(canonical())]
		lines = append(lines, changed(d, from[:min(len(from), 100)]))
	}
	var keys, scopes []invalidate.Fence
	accepted := 0
	for i, chunk := range slices.Collect(slices.Chunk(lines, 1000)) {
		cmds, _ := c.rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			for _, line := range chunk {
				p.Do(t.Context(), c.command(nil, "unlinked", line)...)
			}
			return nil
		})
		for j, line := range chunk {
			f, ok := decode(line)
			if n := 1000*i + j; n < len(canonical()) != ok && n < len(canonical())+len(refused) {
				t.Fatalf("%.80q: Go accepts it: %v", line, ok)
			}
			err := cmds[j].Err()
			if ok != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), "TWOFOLD argument 2 ") {
				t.Errorf("%.80q: %v; Go accepts it: %v", line, err, ok)
			}
			if accepted++; !ok {
				accepted--
			} else if f.OfKeys() {
				keys = append(keys, f)
			} else {
				scopes = append(scopes, f)
			}
		}
	}
	if t.Logf("%d of %d accepted", accepted, len(lines)); accepted < len(lines)/10 {
		t.Error("too few lines are accepted: the test shows little")
	}
	gotKeys, gotScopes := reader.news()
	if !slices.Equal(fencesOf(t, gotKeys), keys) || !slices.Equal(fencesOf(t, gotScopes), scopes) {
		t.Error("the records are not what was sent")
	}
}

// fencesOf returns the fences of records, none of which may be damaged or start an epoch.
func fencesOf(t *testing.T, records []invalidate.Record) (fences []invalidate.Fence) {
	t.Helper()
	for _, r := range records {
		if r.Damaged || r.Bump || r.Time == 0 || r.ID == 0 {
			t.Errorf("record %+v", r)
		}
		fences = append(fences, r.Fences...)
	}
	return fences
}

// One call appends to both streams, directly behind what processes have appended, and removes the cells. The
// text without its first line does the same by EVAL.
func TestFunctionAppends(t *testing.T) {
	t.Parallel()
	for _, eval := range []bool{false, true} {
		t.Run(fmt.Sprint("EVAL ", eval), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.t = t
			p, c := r.started(3), r.caller()
			cells := []string{"app:v:default:users:v1:42", `other:v:default:a\b:v:1`}
			for _, cell := range append(cells, "app:v:default:users:v1:43") {
				r.do("SET", cell, "x")
			}
			c.eval = c.eval || eval
			args := c.command(cells, "k default:users:v1:42", "t default:org:7", `k default:a\\b:v:1`, "k~ default:users:v1:43", "a")
			reply, err := c.rdb.Do(t.Context(), args...).Slice()
			if want := []any{"1-4", "1-4", int64(10_000)}; err != nil || !slices.Equal(reply, want) {
				t.Errorf("it returns %v, %v, want %v", reply, err, want)
			}
			keys, scopes := p.news()
			if len(keys) != 1 || len(scopes) != 1 || gap(p.keys) != nil || gap(p.scopes) != nil {
				t.Fatalf("%v and %v, want one record in each, without a gap", keys, scopes)
			}
			if got, want := logwire.Encode(fencesOf(t, keys)), "k default:users:v1:42\nk default:a\\\\b:v:1"; got != want {
				t.Errorf("keys %q, want %q", got, want)
			}
			if got, want := logwire.Encode(fencesOf(t, scopes)), "t default:org:7\nk~ default:users:v1:43\na"; got != want {
				t.Errorf("scopes %q, want %q", got, want)
			}
			if left, _ := c.rdb.Keys(t.Context(), "*:v:*").Result(); !slices.Equal(left, []string{"app:v:default:users:v1:43"}) {
				t.Errorf("left are the cells %v, want that of the key that only expired", left)
			}
			p.sync(both(9))
			p.wantQuiet()
		})
	}
}

// The function starts an epoch where a Sync would, before its record.
func TestFunctionStartsAnEpoch(t *testing.T) {
	t.Parallel()
	none := history{"no log at all", func(_ *testing.T, r *rig) func() { return func() { r.do("DEL", r.m, r.k, r.s) } }}
	stream := history{"a stream deleted", func(_ *testing.T, r *rig) func() { return func() { r.do("DEL", r.s) } }}
	for _, h := range append(slices.Clone(histories), none, stream) {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, debug)
			r.t = t
			knows := r.started(3)
			after := h.before(t, r)
			knows.sync(both(4))
			lost := knows.at
			after()
			r.caller().call(nil, "t default:org:7")
			fresh := r.process()
			fresh.sync(invalidate.Append{})
			n := len(fresh.scopes)
			if n < 2 || !fresh.scopes[n-2].Bump || logwire.Encode(fresh.scopes[n-1].Fences) != "t default:org:7" {
				t.Errorf("a new process finds %+v, want a bump and the record last", fresh.scopes)
			}
			knows = knows.movedTo(r)
			page := knows.sync(invalidate.Append{})
			if !slices.ContainsFunc(page.Scopes, func(r invalidate.Record) bool { return r.Bump }) || page.End.Epoch == lost.Epoch {
				t.Errorf("after %v the process finds %+v, want a bump", lost, page)
			}
			knows.wantQuiet()
		})
	}
}

// The largest call makes one record of each kind that decodes.
func TestFunctionTakesTheMost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p, c := r.started(1), r.caller()
	var cells, lines []string
	for i := range invalidate.MaxCells {
		cells = append(cells, fmt.Sprint("app:v:default:users:v1:", i))
		lines = append(lines, fmt.Sprint("k default:users:v1:", i))
	}
	const size = invalidate.MaxText / invalidate.MaxFences
	for i := range invalidate.MaxFences {
		lines = append(lines, fmt.Sprintf("t t:%0*d", size-1, i))
	}
	c.call(cells, lines...)
	keys, scopes := p.news()
	if k, s := len(fencesOf(t, keys)), len(fencesOf(t, scopes)); len(keys) != 1 || k != invalidate.MaxCells || len(scopes) != 1 || s != invalidate.MaxFences {
		t.Errorf("%d and %d records of %d and %d fences", len(keys), len(scopes), k, s)
	}
	lines[len(lines)-1] += "x"
	if err := c.try(cells, lines...); err == nil || !strings.Contains(err.Error(), "do not fit into one record") {
		t.Errorf("a byte more: %v", err)
	}
	p.wantQuiet()
}

// No two records share an id, not even those of one moment.
func TestFunctionMakesIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p, c := r.started(1), r.caller()
	_, err := c.rdb.TxPipelined(t.Context(), func(tx redis.Pipeliner) error {
		for range 100 {
			tx.Do(t.Context(), c.command(nil, "unlinked", "k default:users:v1:42", "a")...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	keys, scopes := p.news()
	ids := map[uint64]bool{}
	for _, r := range slices.Concat(keys, scopes) {
		ids[r.ID] = true
	}
	if len(ids) != 200 {
		t.Errorf("200 records have %d ids", len(ids))
	}
}

// Streams keep what the processes of the log keep, and without any, the defaults.
func TestFunctionRetains(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.caller()
	l := newLog(t, r.server.Client(), redislog.Config{Prefix: r.prefix, KeyRetention: 100, ScopeRetention: 1000})
	for i := range 3 {
		_, err := c.rdb.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			for range 500 {
				p.Do(t.Context(), c.command(nil, "unlinked", "k default:users:v1:42", "a")...)
			}
			return nil
		})
		if err == nil {
			_, err = l.Sync(t.Context(), invalidate.Cursor{}, invalidate.Append{})
		}
		if err != nil {
			t.Fatal(err)
		}
		keys, scopes := r.do("XLEN", r.k).(int64), r.do("XLEN", r.s).(int64)
		if i == 0 && (keys != 501 || scopes != 501) || i == 2 && (keys > 300 || scopes < 1000 || scopes > 1300) {
			t.Errorf("%d keys and %d scopes are left in round %d", keys, scopes, i)
		}
	}
}

// A refused call changes nothing, and says why.
func TestFunctionRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p, c := r.started(1), r.caller()
	cell, line := "app:v:default:users:v1:42", "k default:users:v1:42"
	r.do("SET", cell, "x")
	log := []string{r.m, r.k, r.s}
	many := func(line string, n int) []string { return slices.Repeat([]string{line}, n) }
	long := "p t:" + strings.Repeat("x", 1000)
	for _, tt := range []struct {
		keys, args []string
		want       string
	}{
		{nil, []string{"a"}, "the first three keys"},
		{[]string{r.k, r.m, r.s}, []string{"a"}, "the first three keys"},
		{[]string{r.m, r.s, r.k}, []string{"a"}, "the first three keys"},
		{[]string{"app:m", "app:k", "app:s"}, []string{"a"}, "the first three keys"},
		{log, nil, "no argument names anything"},
		{log, []string{"unlinked"}, "no argument names anything"},
		{log, []string{"a", "unlinked"}, "argument 2 begins with none of"},
		{log, []string{line}, "argument 1 names a key without its cell: pass the cell as key 4"},
		{append(log, cell), []string{"k default:users:v1:43"}, "argument 1 does not name the key of the cell that is key 4"},
		{append(log, "default:users:v1:42"), []string{line}, "does not name the key of the cell"},
		{append(log, ":v:default:users:v1:42"), []string{line}, "does not name the key of the cell"},
		{append(log, cell), []string{"a", line, line}, "argument 3 names a key without its cell: pass the cell as key 5"},
		{append(log, cell), []string{"a"}, "there are 1 cells for 0 keys"},
		{append(log, cell), []string{"unlinked", line}, "there are 1 cells for 0 keys"},
		{append(log, cell), []string{line, "t default:"}, "argument 2 has an empty tag"},
		{log, many("a", invalidate.MaxFences+1), "do not fit into one record"},
		{log, many(long, 1100), "do not fit into one record"},
		{append(slices.Clone(log), many(cell, invalidate.MaxCells+1)...), many(line, invalidate.MaxCells+1), "more than 1000 cells"},
	} {
		if err := c.rdb.Do(t.Context(), c.commandOf(tt.keys, tt.args...)...).Err(); err == nil || !strings.HasPrefix(err.Error(), "TWOFOLD ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.100q %.100q: %v, want %q", tt.keys, tt.args, err, tt.want)
		}
	}
	for _, refuse := range []struct{ name, value, code string }{
		{"min-replicas-to-write", "1", "NOREPLICAS"}, {"maxmemory", "1", "OOM"},
	} {
		r.do("CONFIG", "SET", refuse.name, refuse.value)
		if err := c.try([]string{cell}, line); !redis.HasErrorPrefix(err, refuse.code) {
			t.Errorf("%s: %v, want %s", refuse.name, err, refuse.code)
		}
		r.do("CONFIG", "SET", refuse.name, "0")
	}
	r.do("HSET", r.m, "v", "4")
	if err := c.try([]string{cell}, line); err == nil || !strings.Contains(err.Error(), "the log has version 4") {
		t.Errorf("a log of another version: %v", err)
	}
	r.do("HSET", r.m, "v", logwire.Version)
	if p.wantQuiet(); r.do("EXISTS", cell) != int64(1) {
		t.Error("the cell is gone")
	}
}

// In a Cluster the caller removes the cells itself: the log and a cell are in different slots.
func TestFunctionInACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 2)
	rdb, prefix := cluster.Client(), redistest.Prefix()
	var err error
	for range 2 {
		if err = redislog.Install(t.Context(), rdb); err != nil && !errors.Is(err, redislog.ErrNoFunctions) {
			t.Fatal(err)
		}
	}
	r := &rig{t: t, server: cluster.Owner(t, "{"+prefix+"}:m"), prefix: prefix, m: "{" + prefix + "}:m", k: "{" + prefix + "}:k", s: "{" + prefix + "}:s"}
	p, c := r.open(cluster.Client()), caller{r, rdb, err != nil}
	p.sync(both(1))
	const line = "k default:users:v1:42"
	if err := c.try([]string{"app:v:default:users:v1:42"}, line); !redis.HasErrorPrefix(err, "CROSSSLOT") {
		t.Errorf("with the cell: %v, want CROSSSLOT", err)
	}
	if err := c.try(nil, line); err == nil || !strings.Contains(err.Error(), "unlinked as the first argument") {
		t.Errorf("without the cell: %v", err)
	}
	c.call(nil, "unlinked", line, "t default:org:7")
	if keys, scopes := p.news(); len(fencesOf(t, keys)) != 1 || len(fencesOf(t, scopes)) != 1 {
		t.Errorf("read %v and %v, want a key and a tag", keys, scopes)
	}
}

// The rights of a Sync, those of the cells and FCALL suffice. Without INFO the call says so.
func TestFunctionRights(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p, c := r.started(1), r.caller()
	call := "+fcall"
	if c.eval {
		call = "+eval"
	}
	c.rdb = user(t, r, "~{"+r.prefix+"}:*", "~app:v:*", "-@all", call, "+unlink", "+hset", "+hmget",
		"+xadd", "+xrange", "+xrevrange", "+del", "+time", "+info", "+object")
	c.call([]string{"app:v:t:n:1"}, "k t:n:1", "a")
	p.wantNews(1)
	r.do("ACL", "SETUSER", "u"+r.prefix, "-info")
	if err := c.try(nil, "a"); err == nil || !strings.Contains(err.Error(), "TWOFOLD scripts cannot read INFO") {
		t.Errorf("without INFO: %v", err)
	}
	p.wantQuiet()
	if c.eval {
		return
	}
	r.do("ACL", "SETUSER", "u"+r.prefix, "+function|load")
	if err := redislog.Install(t.Context(), c.rdb); err != nil {
		t.Errorf("Install = %v", err)
	}
}

func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	old := newRig(t, redistest.Args("--rename-command", "FUNCTION", ""))
	r := newRig(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		rdb  redis.UniversalClient
		want error
		text string
	}{
		"no client":     {t.Context(), nil, redislog.ErrNoClient, "redislog: install: "},
		"no functions":  {t.Context(), old.server.Client(), redislog.ErrNoFunctions, "by EVAL"},
		"an ended ctx":  {ended, r.server.Client(), context.Canceled, "redislog: install: "},
		"not permitted": {t.Context(), user(t, r, "~*", "+@all", "-function"), nil, "ACL SETUSER"},
	} {
		if err := redislog.Install(tt.ctx, tt.rdb); err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: Install = %v, want %v and %q", name, err, tt.want, tt.text)
		}
	}
}

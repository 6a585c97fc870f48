package doctest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/cachez"
	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
)

const wire = "invalidate/WIRE.md"

// fenced returns the blocks of WIRE.md in a language.
func fenced(t *testing.T, language string) (blocks []string) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(markdown(t)[wire], -1) {
		blocks = append(blocks, m[1])
	}
	if blocks == nil {
		t.Fatalf("%s has no block of %s", wire, language)
	}
	return blocks
}

// A client is a program that runs a block of WIRE.md.
type client struct {
	name, language string
	command        func(t *testing.T, code, port string) *exec.Cmd
}

var clients = []client{
	{"redis-cli", "sh", func(t *testing.T, code, port string) *exec.Cmd {
		t.Helper()
		need(t, "redis-tools", "redis-cli", "--version")
		return exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(code, "redis-cli", "redis-cli -p "+port))
	}},
	{"Python", "python", func(t *testing.T, code, port string) *exec.Cmd {
		t.Helper()
		// The system's Python first: Debian's package is for that one.
		python := "/usr/bin/python3"
		if exec.CommandContext(t.Context(), python, "-c", "import redis").Run() != nil {
			python = "python3"
		}
		need(t, "python3-redis", python, "-c", "import redis")
		return exec.CommandContext(t.Context(), python, "-c", strings.ReplaceAll(code, "6379", port))
	}},
	{"Node.js", "js", func(t *testing.T, code, port string) *exec.Cmd {
		t.Helper()
		modules := "/usr/share/nodejs"
		if list := filepath.SplitList(os.Getenv("NODE_PATH")); len(list) > 0 {
			modules = list[0]
		}
		t.Setenv("NODE_PATH", modules)
		need(t, "nodejs node-redis", "node", "-e", "require('redis')")
		dir := t.TempDir()
		file := filepath.Join(dir, "invalidate.mjs")
		err := errors.Join(
			os.Symlink(modules, filepath.Join(dir, "node_modules")), // an import does not read NODE_PATH
			os.WriteFile(file, []byte(strings.ReplaceAll(code, "6379", port)), 0o600),
		)
		if err != nil {
			t.Fatal(err)
		}
		return exec.CommandContext(t.Context(), "node", file)
	}},
}

// need fails the test if a program does not run.
func need(t *testing.T, packages, program string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v: run the tests by `make test`, which installs it, or install %s (names as in Debian)\n%s", program, args, err, packages, out)
	}
}

// The commands of WIRE.md invalidate, run by the clients for which they are.
func TestClients(t *testing.T) {
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			took, err := invalidated(t, redislog.Function(), c)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("new in both processes %v after the client ended", took)
		})
	}
}

// Without the removal of the cell, TestClients fails.
func TestClientsControl(t *testing.T) {
	const removal = "redis.call('UNLINK', unpack(KEYS, 4))"
	text := strings.Replace(redislog.Function(), removal, "local _", 1)
	if text == redislog.Function() {
		t.Fatalf("the function has no %s", removal)
	}
	if _, err := invalidated(t, text, clients[0]); !errors.Is(err, errOld) {
		t.Errorf("a function that removes no cell: %v, want %v", err, errOld)
	}
}

// fleet is processes that read one source, with a client of Redis each.
type fleet struct {
	t       *testing.T
	server  *redistest.Server
	version atomic.Int64 // of all values in the source
}

// member is one process.
type member struct {
	tiers        *cache.Tiers
	users, pages cache.Cache[int, int64]
}

const bound = redislog.DefaultBound

func (f *fleet) open() *member {
	f.t.Helper()
	rdb := redis.NewClient(redistier.Options(f.server.Options()))
	tiers, err := cache.Open(cache.TiersConfig{
		Remote: redistier.New(rdb, redistier.Config{Prefix: "app"}),
		Log:    redislog.New(rdb, redislog.Config{Prefix: "app", KeyRetention: redislog.MinRetention}),
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = errors.Join(tiers.Close(context.Background()), rdb.Close()) })
	m := &member{tiers: tiers}
	load := func(context.Context, int) (int64, error) { return f.version.Load(), nil }
	users := cache.For("users:v1", load)
	users.Policy = policy.Patch{Stale: new(time.Hour)}
	users.Tags = func(id int, _ int64) []string {
		return map[int][]string{7: {"org:7"}, 8: {"org:8"}}[id]
	}
	m.users, err = cache.New(tiers, users)
	if err == nil {
		m.pages, err = cache.New(tiers, cache.For("pages:v1", load))
	}
	if err == nil {
		err = tiers.Ready(f.t.Context())
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return m
}

// want checks a value.
func want(ctx context.Context, c cache.Cache[int, int64], id int, version int64) error {
	got, err := c.Get(ctx, id)
	if err == nil && got != version {
		err = fmt.Errorf("%w: %d has version %d, want %d", errOld, id, got, version)
	}
	return err
}

var errOld = errors.New("an old value")

// invalidated runs the first block of WIRE.md for a client, and checks that two processes that have the old values
// show the new ones within the bound, and so does a process that starts when the record of the key is no
// longer there. It returns how long that took the two.
func invalidated(t *testing.T, text string, c client) (took time.Duration, err error) {
	t.Helper()
	f := &fleet{t: t, server: redistest.Start(t, redistest.Args("--save", ""))}
	f.server.Do(t, "FUNCTION", "LOAD", text)
	two := []*member{f.open(), f.open()}
	all := func(ctx context.Context, covered, other int64) error {
		var errs []error
		for _, m := range two {
			errs = append(errs, want(ctx, m.users, 7, covered), want(ctx, m.users, 8, covered), want(ctx, m.pages, 5, covered), want(ctx, m.users, 1, other))
		}
		return errors.Join(errs...)
	}
	f.version.Store(1)
	if err := errors.Join(all(t.Context(), 1, 1), want(t.Context(), two[0].users, 42, 1), want(t.Context(), two[1].users, 42, 1)); err != nil {
		return 0, err
	}
	f.version.Store(2)
	cmd := c.command(t, fenced(t, c.language)[0], f.server.Port())
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "TWOFOLD") {
		return 0, fmt.Errorf("%s: %w\n%s", c.name, err, out)
	}
	begin := time.Now()
	redistest.Eventually(t, "values stay old", func(ctx context.Context) error { return all(ctx, 2, 1) })
	if took = time.Since(begin); took > bound {
		return took, fmt.Errorf("%w for %v, and the bound is %v", errOld, took, bound)
	}

	// The key that no process has read since. Its record leaves the log, so only the removal of the cell keeps a new
	// process from the old value.
	_, err = f.server.Client().Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for range 3 * redislog.MinRetention {
			p.FCall(t.Context(), "twofold_invalidate", []string{"{app}:m", "{app}:k", "{app}:s"}, "unlinked", "k default:users:v1:9")
		}
		return nil
	})
	if err != nil {
		return took, err
	}
	for _, m := range []*member{f.open(), two[0], two[1]} { // the new one first, because a refill would hide an old cell
		if err := want(t.Context(), m.users, 42, 2); err != nil {
			return took, err
		}
	}
	return took, nil
}

// The command for cachez needs the right token, and does what it says.
func TestCurl(t *testing.T) {
	t.Parallel()
	need(t, "curl", "curl", "--version")
	tiers, err := cache.Open(cache.TiersConfig{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tiers.Close(context.Background()) }()
	var version atomic.Int64
	cfg := cache.For("users:v1", func(context.Context, int) (int64, error) { return version.Add(1), nil })
	cfg.Tags = func(int, int64) []string { return []string{"org:7"} }
	users, err := cache.New(tiers, cfg)
	if err != nil {
		t.Fatal(err)
	}
	page, err := cachez.Handler(tiers, cachez.Config{
		Authorize: func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer right" },
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/caches", page)
	server := httptest.NewServer(mux)
	defer server.Close()
	code := strings.ReplaceAll(fenced(t, "sh")[1], "localhost:8080", server.URL)
	for token, reads := range map[string]int64{"wrong": 1, "right": 2} {
		version.Store(0)
		if err := errors.Join(users.Delete(t.Context(), 42), want(t.Context(), users, 42, 1)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", code)
		cmd.Env = append(os.Environ(), "CACHEZ_TOKEN="+token)
		out, err := cmd.Output()
		if (err == nil) != (token == "right") || err == nil && !strings.Contains(string(out), `"tag","value":"org:7"`) {
			t.Errorf("token %s: %v\n%s", token, err, out)
		}
		if err := want(t.Context(), users, 42, reads); err != nil {
			t.Errorf("token %s: %v", token, err)
		}
	}
}

// The log in WIRE.md is one that the code takes for its own, and writes in the same way.
func TestWireLog(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Args("--save", ""))
	code := fenced(t, "redis")[0]
	for _, field := range []string{"run_id", "master_replid"} {
		info, _ := s.Do(t, "INFO").(string)
		code = strings.Replace(code, "<"+field+">", regexp.MustCompile(field + ":(\\w+)").FindStringSubmatch(info)[1], 1)
	}
	need(t, "redis-tools", "redis-cli", "--version")
	cmd := exec.CommandContext(t.Context(), "redis-cli", "-e", "-p", s.Port())
	cmd.Stdin = strings.NewReader(code)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	log := func(prefix string) *redislog.Log {
		l := redislog.New(s.Client(), redislog.Config{Prefix: prefix, Logger: slog.New(slog.DiscardHandler)})
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	documented := map[string]any{} // before a Sync writes, too
	for _, key := range []string{":k", ":s", ":m"} {
		documented[key] = shape(t, s, "{app}"+key)
	}
	page, err := log("app").Sync(t.Context(), invalidate.Cursor{}, invalidate.Append{})
	if err != nil {
		t.Fatal(err)
	}
	const epoch, keyID, scopeID = 0x0102030405060708, 0x1112131415161718, 0x2122232425262728
	bump := invalidate.Record{At: invalidate.At(1, 0), ID: epoch, Bump: true, Time: 1795937324000000}
	user := invalidate.Key(keyOf(t))
	for _, d := range []string{
		cmp.Diff([]invalidate.Record{bump, {At: invalidate.At(1, 1), ID: keyID, After: epoch, Time: 1795937325000000, Fences: []invalidate.Fence{{Scope: user}}}}, page.Keys, exact),
		cmp.Diff([]invalidate.Record{bump, {
			At: invalidate.At(1, 1), ID: scopeID, After: epoch, Time: 1795937326000000,
			Fences: []invalidate.Fence{{Scope: invalidate.Tag("default", "org:7")}, {Scope: invalidate.All(), Soft: true}},
		}}, page.Scopes, exact),
		cmp.Diff(invalidate.Cursor{Key: invalidate.At(1, 1), Scope: invalidate.At(1, 1), KeyID: keyID, ScopeID: scopeID, Epoch: epoch}, page.End),
	} {
		if d != "" {
			t.Errorf("the log of %s (-want +read):\n%s", wire, d)
		}
	}
	other := log("other")
	same := invalidate.Append{Keys: page.Keys[1].Fences, Scopes: page.Scopes[1].Fences}
	for _, a := range []invalidate.Append{same, {}} { // each notes other fields
		if _, err = other.Sync(t.Context(), invalidate.Cursor{}, a); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range documented {
		if d := cmp.Diff(want, shape(t, s, "{other}"+key)); d != "" {
			t.Errorf("{app}%s (-%s +code):\n%s", key, wire, d)
		}
	}
}

// exact compares scopes, which have no exported fields.
var exact = cmp.Comparer(func(a, b invalidate.Scope) bool { return a == b })

func keyOf(t *testing.T) key.Key {
	t.Helper()
	k, err := key.Parse("default:users:v1:42")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// shape returns the fields of a key of a log, with the lengths of random values and times in their place.
func shape(t *testing.T, s *redistest.Server, name string) any {
	t.Helper()
	varies := regexp.MustCompile(`^(t|i|id|ki|si|hb|run|rep|wit)$`)
	of := func(name, value string) string {
		if name == "wit" {
			return name
		}
		if varies.MatchString(name) {
			return fmt.Sprint(name, " of ", len(value))
		}
		return name + "=" + value
	}
	if strings.HasSuffix(name, ":m") {
		var fields []string
		for field, value := range s.Client().HGetAll(t.Context(), name).Val() {
			fields = append(fields, of(field, value))
		}
		slices.Sort(fields)
		return fields
	}
	var entries [][]string
	list, _ := s.Do(t, "XRANGE", name, "-", "+").([]any)
	for _, e := range list {
		pair, _ := e.([]any)
		fields, _ := pair[1].([]any)
		entry := []string{fmt.Sprint(pair[0])}
		for i := 0; i < len(fields); i += 2 {
			entry = append(entry, of(fmt.Sprint(fields[i]), fmt.Sprint(fields[i+1])))
		}
		entries = append(entries, entry)
	}
	return entries
}

// The cell in WIRE.md is, byte by byte, what the code writes, under the same name.
func TestWireCell(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(markdown(t)[wire], "\n## Cells\n")
	var got []byte
	for _, m := range regexp.MustCompile(`(?m)^\| [^|]+ \| ([0-9a-f]+) \|`).FindAllStringSubmatch(section, -1) {
		b, err := hex.DecodeString(m[1])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b...)
	}
	k := keyOf(t)
	const begun = 1795937325000
	c := tier.Cell{
		Kind: tier.KindValue, Nonce: tier.Nonce([]byte("12345678")), ScopePos: uint64(invalidate.At(1, 1)), KeyPos: uint64(invalidate.At(1, 0)),
		LoadedAt: begun, SoftAt: begun + 60_000, HardAt: begun + 120_000, LoadTime: 12 * time.Millisecond,
		Tags:   []uint64{invalidate.Tag("default", "org:7").Hash()},
		Schema: binary.BigEndian.Uint64([]byte("abcdefgh")), Echo: k.Hash(), Epoch: 0x0102030405060708, Codec: "json", Payload: []byte(`{"Name":"Ada"}`),
	}
	want, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the cell of %s is\n%x, and the code writes\n%x", wire, got, want)
	}
	if read, err := tier.ParseCell(got); err != nil || !cmp.Equal(read, c) {
		t.Errorf("the cell of %s is read as %+v, %v; want %+v", wire, read, err, c)
	}
	far := redistier.New(redistest.Start(t).Client(), redistier.Config{Prefix: "app"})
	if name := far.Describe(far).Prefix + k.String(); !strings.HasPrefix(section, "\n`"+name+"` is ") {
		t.Errorf("the cell is called %q, and %s does not say so", name, wire)
	}
}

// The lines of WIRE.md are those of the code.
func TestWireLines(t *testing.T) {
	t.Parallel()
	text := markdown(t)[wire]
	for line, scope := range map[string]invalidate.Scope{
		"k default:users:v1:42": invalidate.Key(keyOf(t)), "p default:users:v1:": invalidate.Prefix("default", "users:v1:"),
		"p default:": invalidate.Tenant("default"), "t default:org:7": invalidate.Tag("default", "org:7"), "a": invalidate.All(),
		`t default:C:\\temp`: invalidate.Tag("default", `C:\temp`), `t default:a\x0ab`: invalidate.Tag("default", "a\nb"),
		"k default:users:v1:a%20b%3Aé": invalidate.Key(idOf(t, "a b:é")),
	} {
		if got := logwire.Encode([]invalidate.Fence{{Scope: scope}}); got != line || !strings.Contains(text, "`"+line+"` |") {
			t.Errorf("%v is %q in the log, and %q in %s", scope, got, line, wire)
		}
	}
}

func idOf(t *testing.T, id string) key.Key {
	t.Helper()
	k, err := keyOf(t).Space().Key(key.Text(id))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

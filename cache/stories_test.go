package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/internal/testkit/script"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// The stories in testdata show the two-tier protocol step by step. They have two processes, a
// and b, on one remote tier and one source. To read a story, start at its first lines. To write
// one, leave the part below the dashes empty and run with -update.
func TestStories(t *testing.T) {
	script.Run(t, "testdata/*.txt", func(t *testing.T, env *script.Env) map[string]script.Command {
		return newStage(t, env, nil)
	})
}

// The stories in testdata/log show the races that the log, the lease and the frames' positions
// prevent. Each file shows one race, and why no read is wrong. The stories force the races:
// messages are held on the wire, processes sleep, and servers forget. Read the stories in order
// to learn the protocol. Some start a third process, c.
func TestInterleavings(t *testing.T) {
	script.Run(t, "testdata/log/*.txt", func(t *testing.T, env *script.Env) map[string]script.Command {
		return newStage(t, env, memlog.New(memlog.Config{Bound: bound}))
	})
}

// stage is the scene of a story.
type stage struct {
	t      *testing.T
	env    *script.Env
	source *origin
	redis  *tiertest.Memory // all processes share it
	log    *memlog.Log      // that all processes follow, if not nil
	procs  []*process
	names  *names
	dump   memlog.Snapshot
}

// process is one set of tiers, with a gate on its links. Its calls to the remote tier take the time
// wire. Each process is a little further away than the one before, so that no two events come at the
// same instant, and every story has one outcome.
type process struct {
	*stage
	name    string
	wire    time.Duration
	gate    *gate
	link    *tiertest.Faulty
	loglink *logtest.Faulty
	tiers   *cache.Tiers
	things  cache.Cache[string, string]
	clock   cache.Cache[string, string] // caches nothing
	built   cache.Cache[string, string] // built from other values
	ear     ear
	pace    pace
	refused int64 // refused frames that were reported
}

// newStage returns the commands of a story.
//
//	policy ...       sets the policy of both processes
//	start WHO        starts another process
//	ask WHO          makes a process ask the log now
//
// The commands a, b and c make a call in a process; the others are those of the source and the faults.
func newStage(t *testing.T, env *script.Env, log *memlog.Log) map[string]script.Command {
	w := &stage{
		t: t, env: env, source: newOrigin(), redis: tiertest.NewMemory(), log: log,
		names: &names{text: map[invalidate.Fence]string{}},
	}
	for _, name := range []string{"a", "b"} {
		w.start(name)
	}
	commands := map[string]script.Command{
		"source": {Args: "[what...]", Options: []string{"slow"}, Run: w.source.command},
		"policy": {Options: []string{"ttl", "negative", "errors", "stale", "stale-if-error", "soft-timeout", "local", "min-load", "audit"}, Run: w.policy},
		"start":  {Args: "who", Run: func(c *script.Call) error { w.start(c.Arg(0)); return nil }},
	}
	w.addFaults(commands)
	for i, name := range []string{"a", "b", "c"} {
		commands[name] = script.Command{
			Args: "verb [words...]", Options: []string{"tenant", "ttl", "max-age", "stale"},
			Run: func(c *script.Call) error {
				if i >= len(w.procs) {
					return fmt.Errorf("%s has not started", name)
				}
				return w.procs[i].command(c)
			},
		}
	}
	return commands
}

// start starts a process, which then contacts the log for the first time.
func (w *stage) start(name string) {
	far := time.Duration(len(w.procs)) * 100 * time.Microsecond
	p := &process{stage: w, name: name, wire: time.Millisecond + far}
	p.gate = newGate(p)
	defer p.pace.call()()
	p.link = tiertest.NewFaulty(remoteGate{p.redis, p.gate})
	cfg := cache.TiersConfig{
		Remote: wire{p.link, p}, Logger: p.logger(), Codecs: []codec.Codec{p.codec()}, MaxAudits: 2, OnStale: p.stale,
	}
	of := cache.Config[string, string]{Codec: p.codec()}
	if w.log != nil {
		cfg.ClaimTTL = 10 * time.Second // these stories show no renewed claims
		of.Policy.RemoteTimeout = new(bound / 4)
		p.loglink = logtest.NewFaulty(logGate{p.log, p.gate})
		cfg.Log = logWire{p.loglink, p}
	}
	p.tiers = open(w.t, cfg)
	w.t.Cleanup(func() { // before the tiers close
		p.ear.open.Store(false)
		p.heal()
		p.gate.open()
	})
	things := of
	things.Load, things.LoadMany = p.load, p.loadMany
	p.things = with(w.t, p.tiers, things)
	of.Namespace = "built"
	p.built = with(w.t, p.tiers, of)
	p.clock = with(w.t, p.tiers, cache.Config[string, string]{Namespace: "clock", Policy: patch{Off: new(true)}})
	w.procs = append(w.procs, p)
	advance(10 * time.Millisecond)
	p.ear.open.Store(true)
}

// policy sets the policy of both processes. Fields that the line does not name have their values
// from policy.Default.
func (w *stage) policy(c *script.Call) error {
	var q policy.Patch
	for name, field := range map[string]**time.Duration{
		"ttl": &q.TTL, "negative": &q.NegativeTTL, "errors": &q.ErrorTTL, "stale": &q.Stale,
		"stale-if-error": &q.StaleIfError, "soft-timeout": &q.SoftTimeout, "local": &q.LocalTTL, "min-load": &q.MinLoad,
	} {
		if c.Has(name) {
			*field = new(c.Duration(name, 0))
		}
	}
	if c.Bool("audit", false) { // every hit
		q.Audit = new(1.0)
	}
	for _, p := range w.procs {
		if err := p.tiers.SetPolicies(policy.Table{{Patch: q}}); err != nil {
			return err
		}
	}
	return nil
}

// command makes one call of the cache's API. It waits while its process sleeps.
func (p *process) command(c *script.Call) error {
	p.gate.awake()
	defer p.noteRefused()
	defer p.pace.call()()
	things := p.things
	if c.Has("tenant") {
		things = things.Tenant(c.String("tenant", ""))
	}
	var opts []cache.Option
	if c.Has("ttl") {
		opts = append(opts, cache.TTL(c.Duration("ttl", 0)))
	}
	if c.Has("max-age") {
		opts = append(opts, cache.MaxAge(c.Duration("max-age", 0)))
	}
	if !c.Bool("stale", true) {
		opts = append(opts, cache.Fresh())
	}
	verb, words := c.Arg(0), append(c.Args()[1:], "", "")
	ctx := c.Context()
	switch verb {
	case "get":
		p.get(c, things, words[0], nil, opts...)
	case "build": // builds a value from a thing or from another built value
		p.get(c, p.built, words[0], func(ctx context.Context, _ string) (string, error) {
			if strings.HasPrefix(words[1], "page") {
				return p.built.Get(ctx, words[1])
			}
			return things.Get(ctx, words[1])
		})
	case "getmany":
		p.getMany(c, things, words[:len(words)-2], opts)
	case "peek":
		p.peek(c, things, words[0])
	case "set":
		_, err := p.names.scopes(cache.DefaultTenant, "key", words[0])
		report(c, verb, errors.Join(err, things.Set(ctx, words[0], words[1], opts...)))
	case "delete":
		report(c, verb, things.Delete(ctx, words[0]))
	case "deleteall":
		report(c, verb, things.DeleteAll(ctx))
	case "refresh":
		report(c, verb, things.Refresh(ctx, words[0]))
	case "expire":
		return p.invalidate(c, p.tiers.Expire)
	case "invalidate":
		return p.invalidate(c, p.tiers.Invalidate)
	case "settle":
		report(c, verb, p.tiers.Settle(ctx))
		p.gate.awake()
	case "audits":
		n := p.tiers.Stats().Audits
		c.Printf("same=%d ended=%d stale=%d failed=%d skipped=%d", n.Same, n.Ended, n.Stale, n.Failed, n.Skipped)
	case "stats":
		return p.stats(c, words[:len(words)-2])
	default:
		return fmt.Errorf("no verb is called %s", verb)
	}
	return nil
}

func (p *process) get(c *script.Call, things cache.Cache[string, string], k string, load cache.Loader[string, string], opts ...cache.Option) {
	defer func() {
		if x := recover(); x != nil {
			c.Printf("%s: panic: %v", k, x.(*cache.PanicError).Value)
		}
	}()
	l, ctx := newLook(c.Context(), c.String("tenant", cache.DefaultTenant))
	r, err := things.Fetch(ctx, k, load, opts...)
	l.returned.Store(true)
	p.gate.awake()
	p.noteRefused()
	from := map[cache.Source]string{
		cache.Local: ", kept here", cache.Remote: ", from the remote tier", cache.Load: ", from the source",
	}[r.Source]
	if r.Stale {
		from += ", stale"
	}
	if err != nil {
		c.Printf("%s: %s%s", k, cause(err), from)
		return
	}
	c.Printf("%s = %s%s", k, r.Value, from)
}

func (p *process) getMany(c *script.Call, things cache.Cache[string, string], keys []string, opts []cache.Option) {
	l, ctx := newLook(c.Context(), c.String("tenant", cache.DefaultTenant))
	got, err := things.GetMany(ctx, keys, opts...)
	l.returned.Store(true)
	for _, k := range slices.Sorted(maps.Keys(got)) {
		c.Printf("%s = %s", k, got[k])
	}
	if be, ok := errors.AsType[*cache.BatchError[string]](err); ok {
		for _, k := range slices.Sorted(maps.Keys(be.Errs)) {
			c.Printf("%s: %s", k, cause(be.Errs[k]))
		}
	}
}

func (p *process) peek(c *script.Call, things cache.Cache[string, string], k string) {
	l, ctx := newLook(c.Context(), c.String("tenant", cache.DefaultTenant))
	v, ok := things.Peek(ctx, k)
	l.returned.Store(true)
	if !ok {
		c.Printf("%s: nothing", k)
		return
	}
	c.Printf("%s = %s", k, v)
}

// invalidate invalidates or expires the scopes of KIND WHAT pairs.
func (p *process) invalidate(c *script.Call, do func(context.Context, ...invalidate.Scope) error) error {
	scopes, err := p.names.scopes(c.String("tenant", cache.DefaultTenant), c.Args()[1:]...)
	if err != nil {
		return err
	}
	err = do(c.Context(), scopes...)
	p.gate.awake()
	if pending, ok := errors.AsType[*invalidate.PendingError](err); ok {
		c.Printf("not acknowledged: %d pending", pending.Pending)
		return nil
	}
	if report(c, c.Arg(0), err); err == nil {
		c.Printf("acknowledged")
	}
	return nil
}

// scopes returns the scopes of KIND WHAT pairs, and remembers their names.
func (n *names) scopes(tenant string, words ...string) (scopes []invalidate.Scope, err error) {
	words = append(words, "")
	for i := 0; i+1 < len(words); i += 2 {
		s, err := scopeOf(tenant, words[i], words[i+1])
		if err != nil {
			return nil, err
		}
		n.add(s, words[i]+" "+words[i+1])
		scopes = append(scopes, s)
	}
	return scopes, nil
}

func scopeOf(tenant, kind, what string) (invalidate.Scope, error) {
	switch kind {
	case "key":
		id, err := key.Of(what)
		if err != nil {
			return invalidate.Scope{}, err
		}
		k, err := key.Space{Tenant: tenant, Namespace: "things"}.Key(id)
		return invalidate.Key(k), err
	case "tag":
		return invalidate.Tag(tenant, what), nil
	case "prefix":
		return prefixOf(what), nil
	case "all":
		return invalidate.All(), nil
	}
	return invalidate.Scope{}, fmt.Errorf("invalidate key, tag, prefix or all, not %s", kind)
}

// noteRefused reports the frames that were refused since its last call.
func (p *process) noteRefused() {
	if n := p.tiers.Stats().Total.Cells.Invalidated; n > p.refused {
		p.refused = n
		p.env.Printf("%s refuses the frame", p.name)
	}
}

// stats prints the named fields of cache.Counts.
func (p *process) stats(c *script.Call, names []string) error {
	counts := p.tiers.Stats().Total
	var line []string
	for _, name := range names {
		n, ok := fieldNamed(counts, name)
		if !ok {
			return fmt.Errorf("cache.Counts has no %s", name)
		}
		line = append(line, fmt.Sprintf("%s=%d", name, n))
	}
	c.Printf("%s", strings.Join(line, " "))
	return nil
}

func (p *process) stale(s cache.StaleHit) {
	healed := ""
	if s.Healed {
		healed = ", and deletes it"
	}
	p.env.Printf("%s finds a stale %v hit of %s%s", p.name, s.Source, short(s.Key), healed)
}

// report prints the error of a write, if any.
func report(c *script.Call, verb string, err error) {
	if err != nil {
		c.Printf("%s: %s", verb, cause(err))
	}
}

// cause returns the text of an error without the cache's own words.
func cause(err error) string {
	for ce, ok := errors.AsType[*cache.Error](err); ok; ce, ok = errors.AsType[*cache.Error](err) {
		err = ce.Err
	}
	return strings.TrimPrefix(err.Error(), "cache: ")
}

// short returns a key as stories print it: without the namespace, and without the default
// tenant.
func short(text string) string {
	tenant, rest, _ := strings.Cut(text, ":things:")
	rest = strings.ReplaceAll(rest, "%3A", ":")
	if tenant != cache.DefaultTenant {
		return tenant + "/" + rest
	}
	return rest
}

package cache_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/script"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// The stories in testdata show the two-tier protocol step by step. They have two processes, a
// and b, on one remote tier and one source. To read a story, start at its first lines. To write
// one, leave the part below the dashes empty and run with -update.
func TestStories(t *testing.T) {
	script.Run(t, "testdata/*.txt", newStage)
}

// stage is the scene of a story.
type stage struct {
	env    *script.Env
	source *origin
	procs  []*process
}

// process is one set of tiers. Its calls to the remote tier take the time wire. b is a little
// further away than a, so that no two events come at the same instant, and every story has one
// outcome.
type process struct {
	name   string
	env    *script.Env
	source *origin
	wire   time.Duration
	redis  *tiertest.Memory // both processes share it
	link   *tiertest.Faulty // this process's link to redis
	tiers  *cache.Tiers
	things cache.Cache[string, string]
}

func newStage(t *testing.T, env *script.Env) map[string]script.Command {
	w := &stage{env: env, source: newOrigin()}
	redis := tiertest.NewMemory()
	commands := map[string]script.Command{
		"source": {Args: "[what...]", Options: []string{"slow"}, Run: w.source.command},
		"policy": {Options: []string{"ttl", "negative", "errors", "stale", "stale-if-error", "soft-timeout", "local", "min-load", "audit"}, Run: w.policy},
	}
	for name, do := range map[string]func(*tiertest.Faulty){
		"cut": func(f *tiertest.Faulty) { f.Fail(errCut) }, "hang": func(f *tiertest.Faulty) { f.Hang(true) },
		"lose": func(f *tiertest.Faulty) { f.LoseClaims(true) }, // the answers to claims
		"mend": (*tiertest.Faulty).Heal,
	} {
		commands[name] = script.Command{Args: "who", Run: func(c *script.Call) error { return w.links(c, do) }}
	}
	for i, name := range []string{"a", "b"} {
		p := &process{name: name, env: env, source: w.source, redis: redis, wire: time.Millisecond + time.Duration(i)*100*time.Microsecond}
		p.link = tiertest.NewFaulty(redis)
		p.tiers = open(t, cache.TiersConfig{Remote: wire{p, p.link}, MaxAudits: 2, OnStale: p.stale})
		p.things = with(t, p.tiers, cache.Config[string, string]{Load: p.load, LoadMany: p.loadMany})
		w.procs = append(w.procs, p)
		commands[name] = script.Command{
			Args:    "verb [words...]",
			Options: []string{"tenant", "ttl", "max-age", "stale"},
			Run:     p.command,
		}
	}
	return commands
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

var errCut = errors.New("connection refused")

// links applies a fault to the remote links of all processes, or of one.
func (w *stage) links(c *script.Call, do func(*tiertest.Faulty)) error {
	found := false
	for _, p := range w.procs {
		if c.Arg(0) == "redis" || c.Arg(0) == p.name {
			do(p.link)
			found = true
		}
	}
	if !found {
		return fmt.Errorf("no process is called %s", c.Arg(0))
	}
	return nil
}

// command makes one call of the cache's API.
func (p *process) command(c *script.Call) error {
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
	verb, words := c.Arg(0), append(c.Args()[1:], "")
	ctx := c.Context()
	switch verb {
	case "get":
		p.get(c, things, words[0], opts)
	case "getmany":
		p.getMany(c, things, words[:len(words)-1], opts)
	case "peek":
		p.peek(c, things, words[0])
	case "set":
		report(c, verb, things.Set(ctx, words[0], words[1], opts...))
	case "delete":
		report(c, verb, things.Delete(ctx, words[0]))
	case "deleteall":
		report(c, verb, things.DeleteAll(ctx))
	case "expire":
		report(c, verb, things.Expire(ctx, words[0]))
	case "refresh":
		report(c, verb, things.Refresh(ctx, words[0]))
	case "invalidate":
		return p.invalidate(c, words[0], words[1])
	case "audits":
		n := p.tiers.Stats().Audits
		c.Printf("same=%d ended=%d stale=%d failed=%d skipped=%d", n.Same, n.Ended, n.Stale, n.Failed, n.Skipped)
	case "stats":
		return p.stats(c, words[:len(words)-1])
	default:
		return fmt.Errorf("no verb is called %s", verb)
	}
	return nil
}

func (p *process) get(c *script.Call, things cache.Cache[string, string], k string, opts []cache.Option) {
	defer func() {
		if x := recover(); x != nil {
			c.Printf("%s: panic: %v", k, x.(*cache.PanicError).Value)
		}
	}()
	begun := time.Now()
	l, ctx := newLook(c.Context(), c.String("tenant", cache.DefaultTenant))
	r, err := things.Fetch(ctx, k, nil, opts...)
	l.returned.Store(true)
	stale := ""
	if r.Stale {
		stale = " (stale)"
	}
	// A hit that takes no time is a local hit.
	switch hit := r.Source == cache.Local && time.Since(begun) == 0; {
	case err != nil && hit:
		c.Printf("local hit: %s: %s", k, cause(err))
	case err != nil:
		c.Printf("%s: %s", k, cause(err))
	case hit:
		c.Printf("local hit%s: %s = %s", stale, k, r.Value)
	default:
		c.Printf("%s = %s%s", k, r.Value, stale)
	}
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

func (p *process) invalidate(c *script.Call, kind, what string) error {
	s, err := scopeOf(c.String("tenant", cache.DefaultTenant), kind, what)
	if err == nil {
		report(c, "invalidate", p.tiers.Invalidate(c.Context(), s))
	}
	return err
}

// stats prints the named fields of cache.Counts.
func (p *process) stats(c *script.Call, names []string) error {
	counts := reflect.ValueOf(p.tiers.Stats().Total)
	var line []string
	for _, name := range names {
		f := counts.FieldByName(name)
		if !f.IsValid() {
			return fmt.Errorf("cache.Counts has no %s", name)
		}
		line = append(line, fmt.Sprintf("%s=%d", name, f.Int()))
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

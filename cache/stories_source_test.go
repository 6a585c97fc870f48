package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/script"
)

// origin is the source of a story's processes. Every key has the value v1 until the story
// changes it. A load reads the value when it begins. It answers after slow, when nothing blocks
// it, as a database would.
type origin struct {
	mu      sync.Mutex // protects the rest
	slow    time.Duration
	gate    chan struct{}   // new loads wait for it, if not nil
	gates   []chan struct{} // loads wait for these
	fails   bool
	panics  bool
	failing map[string]bool
	values  map[string]string
	gone    map[string]bool
	tags    map[string][]string
	reads   map[string][]string
	asks    map[string]bool // loaders that report an unchanged value
}

func newOrigin() *origin {
	return &origin{
		slow:    5 * time.Millisecond,
		failing: map[string]bool{}, values: map[string]string{}, gone: map[string]bool{}, tags: map[string][]string{},
		reads: map[string][]string{}, asks: map[string]bool{},
	}
}

// command changes the source:
//
//	source slow=10ms          the time of a load
//	source block              loads that begin from now on hang
//	source free               loads that begin from now on do not hang
//	source go                 the same, and loads that hang go on
//	source fail [KEY]         loads fail, of KEY or of all keys
//	source panic              loads panic
//	source ok                 loads neither fail nor panic
//	source put KEY VALUE      sets a value
//	source gone KEY           removes the value
//	source tags KEY TAG...    the loader of KEY names the tags of its value
//	source reads KEY KEY...   the loader of KEY reads other keys through the cache
//	source asks KEY           the loader of KEY reports an unchanged value
func (o *origin) command(c *script.Call) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c.Has("slow") {
		o.slow = c.Duration("slow", 0)
		return nil
	}
	words := append(c.Args(), "", "", "")
	key, rest := words[1], c.Args()[min(2, len(c.Args())):]
	switch words[0] {
	case "block":
		o.gate = make(chan struct{})
		o.gates = append(o.gates, o.gate)
	case "free":
		o.gate = nil
	case "go":
		for _, g := range o.gates {
			close(g)
		}
		o.gate, o.gates = nil, nil
	case "fail":
		o.failing[key], o.fails = true, key == ""
	case "panic":
		o.panics = true
	case "ok":
		o.fails, o.panics = false, false
		clear(o.failing)
	case "put":
		o.values[key], o.gone[key] = words[2], false
	case "gone":
		o.gone[key] = true
	case "tags":
		o.tags[key] = rest
	case "reads":
		o.reads[key] = rest
	case "asks":
		o.asks[key] = true
	default:
		return fmt.Errorf("the source has no command %s", words[0])
	}
	return nil
}

var errOrigin = errors.New("the source is down")

// read returns the source's value of k.
func (o *origin) read(k string) (v string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fails || o.failing[k] {
		return "", errOrigin
	}
	if o.gone[k] {
		return "", cache.ErrNotFound
	}
	if v, ok := o.values[k]; ok {
		return v, nil
	}
	return "v1", nil
}

// wait takes the time of a load.
func (o *origin) wait(ctx context.Context) error {
	o.mu.Lock()
	slow, gate, panics := o.slow, o.gate, o.panics
	o.mu.Unlock()
	if err := nap(ctx, slow); err != nil {
		return err
	}
	if panics {
		panic("the loader fell over")
	}
	if gate == nil {
		return nil
	}
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// loadMany is the loader of a process for one key or many. It reads the source and writes lines
// to the story.
func (p *process) loadMany(ctx context.Context, keys []string) (map[string]string, error) {
	values, failed, errs := map[string]string{}, []string(nil), error(nil)
	for _, k := range keys {
		v, err := p.source.read(k)
		switch {
		case err == nil:
			values[k] = v
		case !errors.Is(err, cache.ErrNotFound):
			failed, errs = append(failed, k), err
		}
	}
	if err := nap(ctx, p.wire); err != nil {
		return nil, err
	}
	p.misses(ctx, full(ctx, keys...)...)
	what := "load"
	if cache.Auditing(ctx) {
		what = "audit: load"
	}
	p.say(ctx, what, full(ctx, keys...)...)
	defer func() {
		if x := recover(); x != nil {
			p.say(ctx, "load panics", full(ctx, keys...)...)
			panic(x)
		}
	}()
	if err := p.source.wait(ctx); err != nil {
		p.say(ctx, fmt.Sprintf("load given up (%v)", err), full(ctx, keys...)...)
		return nil, err
	}
	for _, k := range keys {
		if v, ok := values[k]; ok {
			var err error
			if values[k], err = p.build(ctx, k, v); err != nil {
				delete(values, k)
				errs = err
			}
		}
	}
	if len(failed) > 0 {
		p.say(ctx, fmt.Sprintf("load fails (%v)", errs), full(ctx, failed...)...)
	}
	return values, errs
}

// build makes the loader's value from a source's value. It records what the value depends on,
// and adds the values of the keys that it reads.
func (p *process) build(ctx context.Context, k, v string) (string, error) {
	p.source.mu.Lock()
	tags, reads, asks := p.source.tags[k], p.source.reads[k], p.source.asks[k]
	p.source.mu.Unlock()
	if prev, ok := cache.Previous[string](ctx); asks && ok && prev == v {
		p.say(ctx, "load: not modified", full(ctx, k)...)
		return "", cache.ErrNotModified
	}
	cache.Depend(ctx, tags...)
	parts := []string{}
	for _, inner := range reads {
		_, ctx := newLook(ctx, cache.DefaultTenant)
		begun := time.Now()
		r, err := p.things.Fetch(ctx, inner, nil)
		if err != nil {
			return "", err
		}
		if time.Since(begun) == 0 {
			p.say(ctx, "local hit", full(ctx, inner)...)
		}
		parts = append(parts, inner+"="+r.Value)
	}
	if len(parts) > 0 {
		v += "[" + strings.Join(parts, " ") + "]"
	}
	return v, nil
}

// full returns the full keys, as the remote tier has them. A loader gets only its own part of
// the key. The tenant is in the context of the call.
func full(ctx context.Context, keys ...string) []string {
	tenant := cache.DefaultTenant
	if l, ok := ctx.Value(lookKey{}).(*look); ok {
		tenant = l.tenant
	}
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = tenant + ":things:" + strings.ReplaceAll(k, ":", "%3A")
	}
	return out
}

// load is the loader of a process for one key.
func (p *process) load(ctx context.Context, k string) (string, error) {
	got, err := p.loadMany(ctx, []string{k})
	if v, ok := got[k]; ok {
		return v, nil
	}
	if err == nil {
		err = cache.ErrNotFound
	}
	return "", err
}

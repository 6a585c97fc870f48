package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/testkit/script"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
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
	defer p.gate.awake() // a process that sleeps reads nothing
	p.thinks(ctx)
	p.misses(ctx, full(ctx, keys...)...)
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
	what := "load"
	if cache.Filling(ctx).Auditing() {
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

// look is one call of a story. It is in the context of everything that the cache does for the
// call. An event before the call returns shows that the local tier had no answer. A later event
// belongs to a refresh in the background.
type look struct {
	tenant   string
	returned atomic.Bool

	mu   sync.Mutex // protects said
	said map[string]string
}

// lookKey is the key of the look in a context.
type lookKey struct{}

func newLook(ctx context.Context, tenant string) (*look, context.Context) {
	l := &look{tenant: tenant, said: map[string]string{}}
	return l, context.WithValue(ctx, lookKey{}, l)
}

// first reports whether text differs from the last text about the key. So a call that polls
// every few milliseconds gets one line in the story.
func (l *look) first(key, text string) bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said[key] == text {
		return false
	}
	l.said[key] = text
	return true
}

// say reports an event of the process for some keys.
func (p *process) say(ctx context.Context, what string, keys ...string) {
	l, _ := ctx.Value(lookKey{}).(*look)
	var fresh []string
	for _, k := range keys {
		if k = short(k); l.first(k, what) {
			fresh = append(fresh, k)
		}
	}
	if slices.Sort(fresh); len(fresh) > 0 {
		p.env.Printf("%s %s %s", p.name, what, strings.Join(fresh, " "))
	}
}

// sayEach reports an event for each key, with one line for all keys of the same event.
func (p *process) sayEach(ctx context.Context, keys []string, of func(i int) string) {
	same := map[string][]string{}
	for i, k := range keys {
		same[of(i)] = append(same[of(i)], k)
	}
	for _, what := range slices.Sorted(maps.Keys(same)) {
		p.say(ctx, what, same[what]...)
	}
}

// misses reports, once for each key, that the local tier had no answer for the call.
func (p *process) misses(ctx context.Context, keys ...string) {
	l, _ := ctx.Value(lookKey{}).(*look)
	if l == nil || l.returned.Load() {
		return
	}
	p.say(ctx, "local miss", slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return !l.first("local "+k, "miss") })...)
}

// wire is the remote tier as one process reaches it. Every call takes a moment and adds a line
// to the story.
type wire struct {
	tier.Remote
	p *process
}

func (w wire) Get(ctx context.Context, keys []string, frames [][]byte) error {
	err := nap(ctx, w.p.wire)
	w.p.misses(ctx, keys...)
	if err == nil {
		err = w.p.link.Get(ctx, keys, frames)
	}
	if err != nil {
		w.p.say(ctx, fmt.Sprintf("remote get fails (%v)", err), keys...)
		return err
	}
	w.p.sayEach(ctx, keys, func(i int) string { return describe(frames[i]) })
	return nil
}

// describe returns the meaning of a frame for its reader.
func describe(frame []byte) string {
	if frame == nil {
		return "remote miss"
	}
	c, err := tier.ParseCell(frame)
	switch {
	case err != nil:
		return "remote rubbish"
	case c.Kind == tier.KindLease:
		return "remote: being loaded"
	case c.SoftAt <= time.Now().UnixMilli():
		return "remote hit (stale)"
	case c.Flags&tier.FlagNegative != 0:
		return "remote hit (absence)"
	}
	return "remote hit"
}

func (w wire) Claim(ctx context.Context, keys []string, claims []tier.Claim, got []tier.Claimed) error {
	w.p.thinks(ctx) // it may have refused the frame that it read before
	err := nap(ctx, w.p.wire)
	held := w.holds(keys, claims)
	if err == nil {
		err = w.p.link.Claim(ctx, keys, claims, got)
	}
	if err != nil {
		w.p.say(ctx, fmt.Sprintf("claim fails (%v)", err), keys...)
		return err
	}
	w.p.sayEach(ctx, keys, func(i int) string {
		switch {
		case !got[i].Granted:
			return "claim refused"
		case held[i]:
			return "claim renewed"
		case claims[i].Refresh:
			return "claim to refresh"
		}
		return "claim"
	})
	return nil
}

// holds reports which claims are in the tier already. It bypasses the faults.
func (w wire) holds(keys []string, claims []tier.Claim) []bool {
	held := make([]bool, len(keys))
	for i, k := range keys {
		frame, _ := tiercall.Get(context.Background(), w.p.redis, k)
		held[i] = len(frame) > tier.NonceSize && bytes.Equal(frame[1:1+tier.NonceSize], claims[i].Nonce[:])
	}
	return held
}

func (w wire) Fill(ctx context.Context, keys []string, fills []tier.Fill, ok []bool) error {
	err := nap(ctx, w.p.wire)
	if err == nil {
		err = w.p.link.Fill(ctx, keys, fills, ok)
	}
	if err != nil {
		w.p.say(ctx, fmt.Sprintf("remote fill fails (%v)", err), keys...)
		return err
	}
	w.p.sayEach(ctx, keys, func(i int) string {
		c, err := tier.ParseCell(fills[i].Cell)
		switch {
		case len(fills[i].Cell) == 0 && ok[i]:
			return "claim given back"
		case len(fills[i].Cell) == 0:
			return "claim was taken away"
		case !ok[i]:
			return "remote fill refused"
		case err == nil && c.Flags&tier.FlagNegative != 0:
			return "remote fill (absence)"
		}
		return "remote fill"
	})
	return nil
}

func (w wire) Remove(ctx context.Context, keys []string) error {
	err := nap(ctx, w.p.wire)
	if err == nil {
		err = w.p.link.Remove(ctx, keys)
	}
	if err != nil {
		w.p.say(ctx, fmt.Sprintf("remote delete fails (%v)", err), keys...)
		return err
	}
	w.p.say(ctx, "remote delete", keys...)
	return nil
}

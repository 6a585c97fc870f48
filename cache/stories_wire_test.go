package cache_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

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
	p *process
	f *tiertest.Faulty
}

var _ tier.Batcher = wire{}

func (w wire) Get(ctx context.Context, key string) ([]byte, error) {
	got, err := w.GetMany(ctx, []string{key})
	return got[0], err
}

func (w wire) GetMany(ctx context.Context, keys []string) ([][]byte, error) {
	got := make([][]byte, len(keys))
	err := nap(ctx, w.p.wire)
	w.p.misses(ctx, keys...)
	if err == nil {
		got, err = w.f.GetMany(ctx, keys)
	}
	if err != nil {
		w.p.say(ctx, fmt.Sprintf("remote get fails (%v)", err), keys...)
		return got, err
	}
	w.p.sayEach(ctx, keys, func(i int) string { return describe(got[i]) })
	return got, nil
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
	case c.Kind == tier.Lease:
		return "remote: being loaded"
	case c.SoftAt <= time.Now().UnixMilli():
		return "remote hit (stale)"
	case c.Flags&tier.Negative != 0:
		return "remote hit (absence)"
	}
	return "remote hit"
}

func (w wire) Claim(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
	got, err := w.ClaimMany(ctx, []string{key}, []tier.Claim{c})
	return got[0], err
}

func (w wire) ClaimMany(ctx context.Context, keys []string, claims []tier.Claim) ([]tier.Claimed, error) {
	got := make([]tier.Claimed, len(keys))
	err := nap(ctx, w.p.wire)
	held := w.holds(keys, claims)
	if err == nil {
		got, err = w.f.ClaimMany(ctx, keys, claims)
	}
	if err != nil {
		w.p.say(ctx, fmt.Sprintf("claim fails (%v)", err), keys...)
		return got, err
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
	return got, nil
}

// holds reports which claims are in the tier already. It bypasses the faults.
func (w wire) holds(keys []string, claims []tier.Claim) []bool {
	held := make([]bool, len(keys))
	for i, k := range keys {
		frame, _ := w.p.redis.Get(context.Background(), k)
		held[i] = len(frame) > tier.NonceSize && bytes.Equal(frame[1:1+tier.NonceSize], claims[i].Nonce[:])
	}
	return held
}

func (w wire) Fill(ctx context.Context, key string, f tier.Fill) (bool, error) {
	ok, err := w.FillMany(ctx, []string{key}, []tier.Fill{f})
	return ok[0], err
}

func (w wire) FillMany(ctx context.Context, keys []string, fills []tier.Fill) ([]bool, error) {
	ok := make([]bool, len(keys))
	err := nap(ctx, w.p.wire)
	if err == nil {
		ok, err = w.f.FillMany(ctx, keys, fills)
	}
	if err != nil {
		w.p.say(ctx, fmt.Sprintf("remote fill fails (%v)", err), keys...)
		return ok, err
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
		case err == nil && c.Flags&tier.Negative != 0:
			return "remote fill (absence)"
		}
		return "remote fill"
	})
	return ok, nil
}

func (w wire) Unlink(ctx context.Context, keys ...string) error {
	err := nap(ctx, w.p.wire)
	if err == nil {
		err = w.f.Unlink(ctx, keys...)
	}
	if err != nil {
		w.p.say(ctx, fmt.Sprintf("remote delete fails (%v)", err), keys...)
		return err
	}
	w.p.say(ctx, "remote delete", keys...)
	return nil
}

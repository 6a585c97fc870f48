package cache_test

import (
	"context"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// remoteGate is the remote tier behind a gate.
type remoteGate struct {
	g     *gate
	redis *tiertest.Memory
	dump  *dump
}

var _ tier.Remote = remoteGate{}

func (r remoteGate) Get(ctx context.Context, key string) ([]byte, error) {
	return pass(ctx, r.g, "get", true, func(ctx context.Context) ([]byte, error) { return r.redis.Get(ctx, key) })
}

func (r remoteGate) Claim(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
	return pass(ctx, r.g, "claim", false, repeat(r.g, "claim", func(ctx context.Context) (tier.Claimed, error) {
		r.dump.know(key)
		return r.redis.Claim(ctx, key, c)
	}))
}

func (r remoteGate) Fill(ctx context.Context, key string, f tier.Fill) (bool, error) {
	return pass(ctx, r.g, "fill", false, repeat(r.g, "fill", func(ctx context.Context) (bool, error) {
		return r.redis.Fill(ctx, key, f)
	}))
}

func (r remoteGate) Unlink(ctx context.Context, keys ...string) error {
	_, err := pass(ctx, r.g, "unlink", false, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, r.redis.Unlink(ctx, keys...)
	})
	return err
}

// logRemote is a wire whose process first reports whether it refused the frame that it read
// before.
type logRemote struct {
	wire
	lp *logProcess
}

// Name implements [tier.Named]: all processes of a story share one tier.
func (logRemote) Name() string { return "story" }

// thinks waits first, so that the lines of the story keep their order.
func (p *logProcess) thinks(ctx context.Context) {
	_ = nap(ctx, time.Microsecond) // the caller checks ctx itself
	p.noteRefused()
}

func (r logRemote) Claim(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
	r.lp.thinks(ctx)
	return r.wire.Claim(ctx, key, c)
}

func (r logRemote) ClaimMany(ctx context.Context, keys []string, c []tier.Claim) ([]tier.Claimed, error) {
	r.lp.thinks(ctx)
	return r.wire.ClaimMany(ctx, keys, c)
}

// repeat makes op happen again when the story says so. It does so at once, as when a client
// library sends a command twice, or when a copy is delivered.
func repeat[T any](g *gate, kind string, op func(context.Context) (T, error)) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		g.mu.Lock()
		twice, copied := g.twice[kind], g.copied[kind]
		delete(g.twice, kind)
		delete(g.copied, kind)
		if copied {
			g.copies = append(g.copies, func() {
				v, err := op(context.WithoutCancel(ctx))
				g.p.env.Printf("the copy of %s's %s arrives: %s", g.p.name, kind, spell(v, err))
			})
		}
		g.mu.Unlock()
		if twice {
			v, err := op(ctx)
			g.p.env.Printf("%s sends its %s again; the first answer, which is lost: %s", g.p.name, kind, spell(v, err))
			_ = nap(ctx, 100*time.Microsecond)
		}
		return op(ctx)
	}
}

func (g *gate) deliver() error {
	g.mu.Lock()
	copies := g.copies
	g.copies = nil
	g.mu.Unlock()
	if len(copies) == 0 {
		return fmt.Errorf("no copy of a message of %s's is on the wire", g.p.name)
	}
	for _, c := range copies {
		c()
	}
	return nil
}

func spell(v any, err error) string {
	done := err == nil
	switch v := v.(type) {
	case tier.Claimed:
		done = done && v.Granted
	case bool:
		done = done && v
	}
	if done {
		return "done"
	}
	return "refused"
}

// load is the source behind the gate: a process that sleeps reads nothing.
func (p *logProcess) load(ctx context.Context, k string) (string, error) {
	got, err := p.loadMany(ctx, []string{k})
	if v, ok := got[k]; ok || err != nil {
		return v, err
	}
	return "", cache.ErrNotFound
}

func (p *logProcess) loadMany(ctx context.Context, keys []string) (map[string]string, error) {
	p.thinks(ctx)
	p.misses(ctx, full(ctx, keys...)...)
	got, err := p.process.loadMany(ctx, keys)
	p.gate.awake()
	return got, err
}

// codec returns a codec whose decoding a story can hold.
func (p *logProcess) codec() codec.Codec { return storyCodec{codec.JSON, p.gate} }

type storyCodec struct {
	codec.Codec
	g *gate
}

func (storyCodec) ID() string { return "story" }

func (c storyCodec) Unmarshal(data []byte, v any) error {
	c.g.linger("decode")
	return c.Codec.Unmarshal(data, v)
}

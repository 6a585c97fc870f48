package cache_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/redistier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

var secretA, secretB = []byte("0123456789abcdef"), []byte("fedcba9876543210")

func TestSecretIsChecked(t *testing.T) {
	for _, tt := range []struct {
		secret, previous []byte
		text             string
	}{
		{secretA[:15], nil, "field Secret: it has 15 bytes: use at least 16 random ones"},
		{[]byte(""), nil, "field Secret: it has 0 bytes"},
		{secretA, secretB[:1], "field Secret: PreviousSecret: it has 1 bytes"},
		{nil, secretB, "field Secret: it is nil, and PreviousSecret is set"},
	} {
		_, err := cache.Open(cache.TiersConfig{Secret: tt.secret, PreviousSecret: tt.previous})
		if err == nil || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), string(secretA[:8])) {
			t.Errorf("Open = %v, want %q and no secret", err, tt.text)
		}
	}
}

// A caller may reuse the slices after Open.
func TestSecretIsCopied(t *testing.T) {
	bubble(t, "copied", func(t *testing.T) {
		mem, secret := tiertest.NewMemory(), bytes.Clone(secretA)
		c := with(t, open(t, cache.TiersConfig{Remote: mem, Secret: secret}), cache.Config[int, string]{})
		clear(secret)
		must(t, c.Set(t.Context(), 1, "v"))
		wantAuthentic(t, mem, secretA, nil, true)
	})
}

// wantAuthentic reads key 1 in a new process.
func wantAuthentic(t *testing.T, r tier.Remote, secret, previous []byte, want bool) {
	t.Helper()
	tiers := open(t, cache.TiersConfig{Remote: r, Secret: secret, PreviousSecret: previous, Policies: remoteTimeout(time.Minute)})
	v, ok := with(t, tiers, cache.Config[int, string]{}).Peek(t.Context(), 1)
	refused := total(tiers).Cells.Unauthentic
	if want && (!ok || v != "v" || refused != 0) || !want && (ok || refused != 1) {
		t.Errorf("Peek = %q, %v with %d unauthentic cells, want the value: %v", v, ok, refused, want)
	}
}

// A value is served only with a secret that it was stored with.
func TestSecretOfCells(t *testing.T) {
	for _, tt := range []struct {
		name             string
		writer           []byte
		reader, previous []byte
		want             bool
	}{
		{"the same", secretA, secretA, nil, true},
		{"the previous", secretA, secretB, secretA, true},
		{"the next", secretB, secretA, secretB, true},
		{"another", secretA, secretB, nil, false},
		{"reader without", secretA, nil, nil, false},
		{"writer without", nil, secretA, secretB, false},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			mem := tiertest.NewMemory()
			writer := with(t, open(t, cache.TiersConfig{Remote: mem, Secret: tt.writer}), cache.Config[int, string]{})
			must(t, writer.Set(t.Context(), 1, "v"))
			wantAuthentic(t, mem, tt.reader, tt.previous, tt.want)
		})
	}
}

// Whoever can write to the remote tier, and does not know the secret, can change no value.
func TestSecretAgainstForgery(t *testing.T) {
	bubble(t, "forged", func(t *testing.T) {
		mem := tiertest.NewMemory()
		cfg := cache.Config[int, string]{}
		signed := with(t, open(t, cache.TiersConfig{Remote: mem, Secret: secretA}), cfg)
		must(t, signed.Set(t.Context(), 2, "v"))
		moved := cellOf(t, mem, "default:things:2")
		must(t, signed.Set(t.Context(), 1, "v"))
		frame := cellOf(t, mem, "default:things:1")
		bare := frame[:len(frame)-16]
		forged := rewrite(func(c *tier.Cell) { c.Payload = []byte(`"w"`) })(bare)
		other := with(t, open(t, cache.TiersConfig{Remote: mem, Secret: secretB}), cfg)
		must(t, other.Set(t.Context(), 1, "w"))
		for name, b := range map[string][]byte{
			"another payload without a tag":         forged,
			"another payload with the old tag":      slices.Concat(forged, frame[len(bare):]),
			"the cell of another key":               moved,
			"the cell with a tag of another secret": cellOf(t, mem, "default:things:1"),
			"the cell without its tag":              bare,
			"no frame":                              []byte("V23456789"),
		} {
			store(t, mem, "default:things:1", b, time.Minute)
			tiers := open(t, cache.TiersConfig{Remote: mem, Secret: secretA})
			c := with(t, tiers, cache.Config[int, string]{Load: func(context.Context, int) (string, error) { return "loaded", nil }})
			equal(t, get(t, c, 1), "loaded", "%s: value", name)
			equal(t, total(tiers).Cells.Unauthentic, 1, "%s: Cells.Unauthentic", name)
			wantValue(t, mem, "loaded")
		}
		for bit := range 8 * len(frame) {
			at := bit / 8
			if at == 0 || at >= 1 && at < 9 || at >= tier.RefreshAt && at < tier.HeaderSize {
				continue // a lease or garbage; what the server rewrites
			}
			store(t, mem, "default:things:1", flipBit(bit)(bytes.Clone(frame)), time.Minute)
			wantAuthentic(t, mem, secretA, nil, false)
		}
		store(t, mem, "default:things:1", frame, time.Minute)
		wantAuthentic(t, mem, secretA, nil, true)
	})
}

func wantValue(t *testing.T, mem *tiertest.Memory, want string) {
	t.Helper()
	c := with(t, open(t, cache.TiersConfig{Remote: mem, Secret: secretA}), cache.Config[int, string]{})
	if v, ok := c.Peek(t.Context(), 1); !ok || v != want {
		t.Errorf("another process reads %q, %v, want %q", v, ok, want)
	}
}

// Absences, refreshes, batches and Expire write authentic cells, too.
func TestSecretOfEveryWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, n := tiertest.NewMemory(), 0
		openOne := func() (*cache.Tiers, cache.Cache[int, int]) {
			tiers := open(t, cache.TiersConfig{Remote: mem, Secret: secretA})
			return tiers, with(t, tiers, cache.Config[int, int]{
				Policy: patch{TTL: new(time.Minute), Stale: new(time.Hour), NegativeTTL: new(time.Minute)},
				Load: func(_ context.Context, k int) (int, error) {
					if n++; k == 3 {
						return 0, cache.ErrNotFound
					}
					return 100*k + n, nil
				},
			})
		}
		_, a := openOne()
		get(t, a, 1)
		_, err := a.Get(t.Context(), 3)
		fails(t, err, cache.ErrNotFound, "Get")
		must(t, a.SetMany(t.Context(), map[int]int{4: 4, 5: 5}))
		must(t, a.Expire(t.Context(), 5))
		<-time.After(2 * time.Second)
		b, c := openOne()
		equal(t, get(t, c, 1), 101, "value")
		_, err = c.Get(t.Context(), 3)
		fails(t, err, cache.ErrNotFound, "Get of an absence")
		equal(t, get(t, c, 4), 4, "value of SetMany")
		equal(t, get(t, c, 5), 5, "stale value")
		synctest.Wait()
		<-time.After(time.Second)
		equal(t, get(t, c, 5), 503, "refreshed value")
		equal(t, total(b).Cells.Unauthentic, 0, "Cells.Unauthentic")
		_, d := openOne()
		equal(t, get(t, d, 5), 503, "refreshed value in another process")
		equal(t, n, 3, "loads")
	})
}

// A fleet on a Redis server changes its secret in three steps without a miss.
func TestSecretRotation(t *testing.T) {
	rdb, prefix := redistest.Start(t).Client(), redistest.Prefix()
	process := func(secret, previous []byte) (*cache.Tiers, cache.Cache[int, string]) {
		tiers := ready(t, cache.TiersConfig{
			Remote: redistier.New(rdb, redistier.Config{Prefix: prefix}), Log: redislog.New(rdb, redislog.Config{Prefix: prefix}),
			Secret: secret, PreviousSecret: previous, Policies: remoteTimeout(time.Minute), InvalidateWait: time.Minute,
		})
		return tiers, with(t, tiers, cache.Config[int, string]{})
	}
	steps := []struct{ secret, previous []byte }{{secretA, nil}, {secretA, secretB}, {secretB, secretA}, {secretB, nil}}
	for i := range steps[1:] {
		old, a := process(steps[i].secret, steps[i].previous)
		next, b := process(steps[i+1].secret, steps[i+1].previous)
		must(t, a.Set(t.Context(), 10+i, "old"))
		must(t, b.Set(t.Context(), 20+i, "new"))
		if v, ok := b.Peek(t.Context(), 10+i); !ok || v != "old" {
			t.Errorf("step %d: the next process reads %q, %v", i, v, ok)
		}
		if v, ok := a.Peek(t.Context(), 20+i); !ok || v != "new" {
			t.Errorf("step %d: the old process reads %q, %v", i, v, ok)
		}
		equal(t, total(old).Cells.Unauthentic+total(next).Cells.Unauthentic, 0, "step %d: unauthentic cells", i)
	}
	// The last process knows only the new secret.
	last, c := process(secretB, nil)
	if v, ok := c.Peek(t.Context(), 10); ok {
		t.Errorf("a value of the old secret is served: %q", v)
	}
	names, err := rdb.Keys(t.Context(), prefix+"*things:2[01]").Result()
	must(t, err)
	slices.Sort(names)
	if len(names) != 2 {
		t.Fatalf("cells %q, want two", names)
	}
	must(t, rdb.Copy(t.Context(), names[0], names[1], 0, true).Err())
	if v, ok := c.Peek(t.Context(), 21); ok {
		t.Errorf("the value of another key is served: %q", v)
	}
	equal(t, total(last).Cells.Unauthentic, 2, "unauthentic cells")
}

// BenchmarkSecret measures what a secret costs a remote hit on a Redis server:
//
//	go test -run '^$' -bench 'BenchmarkSecret|BenchmarkTags' -benchtime 50000x ./cache
func BenchmarkSecret(b *testing.B) {
	for _, size := range []int{100, 10 << 10} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			priceOfARemoteHit(b, strings.Repeat("x", size), func(tc *cache.TiersConfig, _ *cache.Config[int, string]) { tc.Secret = secretA })
		})
	}
}

// BenchmarkTags measures what Config.Tags costs a remote hit: the check that the cell has the tags.
func BenchmarkTags(b *testing.B) {
	for _, n := range []int{1, 4} {
		b.Run(fmt.Sprintf("%d of 100B", n), func(b *testing.B) {
			tags := make([]string, n)
			for i := range tags {
				tags[i] = fmt.Sprint("org:", i)
			}
			priceOfARemoteHit(b, strings.Repeat("x", 100), func(_ *cache.TiersConfig, c *cache.Config[int, string]) {
				c.Tags = func(int, string) []string { return tags }
			})
		})
	}
}

// priceOfARemoteHit reads from processes without and with a setting in turn, so a busy machine slows both equally, and
// compares the medians. Each has cells of its own.
func priceOfARemoteHit(b *testing.B, value string, set func(*cache.TiersConfig, *cache.Config[int, string])) {
	rdb := redistest.Start(b).Client()
	var near [2]*forgetful
	var caches [2]cache.Cache[int, string]
	for i := range caches {
		near[i] = &forgetful{Tier: local.New(local.Config{})}
		tc := cache.TiersConfig{
			Local: near[i], Remote: redistier.New(rdb, redistier.Config{Prefix: redistest.Prefix()}),
			Policies: policy.Table{{Patch: patch{RemoteTimeout: new(time.Minute), LocalTTL: new(time.Hour)}}},
		}
		cfg := cache.Config[int, string]{Namespace: "bench:v1", Load: func(context.Context, int) (string, error) { return value, nil }}
		if i == 1 {
			set(&tc, &cfg)
		}
		tiers, err := cache.Open(tc)
		must(b, err)
		b.Cleanup(func() { _ = tiers.Close(context.Background()) })
		caches[i], err = cache.New(tiers, cfg)
		must(b, err)
		_, err = caches[i].Get(b.Context(), 1)
		must(b, err)
	}
	var took [2][]time.Duration
	for n := 0; b.Loop(); n++ {
		for j := range caches {
			i := (n + j) % 2
			near[i].Delete(near[i].last)
			start := time.Now()
			v, err := caches[i].Get(b.Context(), 1)
			took[i] = append(took[i], time.Since(start))
			if err != nil || len(v) != len(value) {
				b.Fatal(len(v), err)
			}
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	without, with := took[0][len(took[0])/2], took[1][len(took[1])/2]
	b.ReportMetric(float64(without.Nanoseconds()), "without-ns")
	b.ReportMetric(float64(with.Nanoseconds()), "with-ns")
	b.ReportMetric(100*float64(with-without)/float64(without), "%")
}

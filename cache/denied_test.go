package cache_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/tier/redistier"
)

// lines collects the text of a log. Its methods may be called concurrently.
type lines struct {
	mu   sync.Mutex // protects text
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) with(part string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

// When a client lacks the server's password, Ready, writes and the log say so. The source
// answers the reads.
func TestMissingPassword(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Args("--maxclients", "1000")) // a server of its own
	s.Do(t, "CONFIG", "SET", "requirepass", "secret")
	rdb := redis.NewClient(s.Options())
	t.Cleanup(func() { _ = rdb.Close() })
	said := &lines{}
	tiers, err := cache.Open(cache.TiersConfig{
		Remote: redistier.New(rdb, redistier.Config{Prefix: "app"}),
		Log:    redislog.New(rdb, redislog.Config{Prefix: "app"}),
		Logger: slog.New(slog.NewTextHandler(said, nil)),
	})
	if err != nil {
		t.Fatalf("Open: %v; it must not talk to Redis", err)
	}
	const reason = "wants a password (NOAUTH): set Password in the client's options"
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if err := tiers.Close(ctx); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("Close = %v, want an error that names the reason", err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := tiers.Ready(ctx); err == nil || !strings.Contains(err.Error(), "redislog: the server at "+s.Addr()+" "+reason) || !redis.IsAuthError(err) {
		t.Errorf("Ready = %v, want an error that says the server %s", err, reason)
	}
	src := &source{}
	c := with(t, tiers, thingConfig{Load: src.load})
	for k := range 10 {
		if v, err := c.Get(t.Context(), k); err != nil {
			t.Errorf("Get = %q, %v; want the source's answer", v, err)
		}
	}
	err = c.Set(t.Context(), 1, "new")
	if _, ok := errors.AsType[*invalidate.PendingError](err); !ok || !strings.Contains(err.Error(), reason) {
		t.Errorf("Set = %v, want a PendingError that says the server %s", err, reason)
	}
	if v, err := c.Get(t.Context(), 1); v != "new" || err != nil {
		t.Errorf("Get = %q, %v; want the value of Set", v, err)
	}
	for _, what := range []string{"the lease has run out", "invalidations wait for the log or the remote tier"} {
		if n := said.with(what); n != 1 {
			t.Errorf("%d lines say that %s, want one; the log is\n%s", n, what, said.text.String())
		}
	}
	if n := said.with(reason); n < 2 || n > 3 { // the breaker may log a third
		t.Errorf("%d lines say that the server %s; the log is\n%s", n, reason, said.text.String())
	}
}

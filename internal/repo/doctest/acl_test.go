package doctest_test

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/redistier"
)

// The rights in the guide of the tiers are sufficient for every call, and each is necessary.
func TestRights(t *testing.T) {
	t.Parallel()
	rule := regexp.MustCompile(`(?m)^ACL SETUSER app .*$`).FindString(markdown(t)["tier/README.md"])
	words := strings.Fields(rule)
	if len(words) < 10 {
		t.Fatalf("tier/README.md has no line ACL SETUSER app: %q", rule)
	}
	if err := callsAs(t, words, 20*time.Second); err != nil {
		t.Errorf("a user with the rights in tier/README.md: %v", err)
	}
	for _, denied := range []string{"-get", "-unlink", "-xadd", "-hset", "-getrange"} {
		t.Run(denied, func(t *testing.T) {
			t.Parallel()
			if err := callsAs(t, append(slices.Clone(words), denied), 2*time.Second); err == nil {
				t.Error("all calls succeed: the rights in the guide are not all needed")
			}
		})
	}
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		if err := inCluster(t, words, 3*time.Second); err == nil {
			t.Error("all calls succeed in a Cluster without the right that the guide adds there")
		}
		more := regexp.MustCompile("In a Cluster add `([^`]+)`").FindStringSubmatch(markdown(t)["tier/README.md"])
		if err := inCluster(t, append(slices.Clone(words), more[1]), 20*time.Second); err != nil {
			t.Errorf("a user with the rights in tier/README.md, in a Cluster: %v", err)
		}
	})
}

// inCluster is callsAs in a Cluster.
func inCluster(t *testing.T, rules []string, patience time.Duration) error {
	t.Helper()
	c := redistest.StartCluster(t, 2)
	for _, s := range c.Nodes {
		allow(t, s, rules)
	}
	opts := redistier.Options(c.Options())
	opts.Username, opts.Password = "app", "secret"
	return calls(t, redis.NewClusterClient(opts), patience)
}

// callsAs makes one call of each kind as a user with the given rules.
func callsAs(t *testing.T, rules []string, patience time.Duration) error {
	t.Helper()
	s := redistest.Start(t, redistest.Args("--save", ""))
	allow(t, s, rules)
	opts := redistier.Options(s.Options())
	opts.Username, opts.Password = "app", "secret"
	return calls(t, redis.NewClient(opts), patience)
}

// allow creates a user by the words of an ACL SETUSER.
func allow(t *testing.T, s *redistest.Server, rules []string) {
	t.Helper()
	args := make([]any, len(rules))
	for i, r := range rules {
		args[i] = r
	}
	s.Do(t, args...)
}

// calls makes one call of each kind through a client.
func calls(t *testing.T, rdb redis.UniversalClient, patience time.Duration) error {
	t.Helper()
	t.Cleanup(func() { _ = rdb.Close() })
	open := func() (*cache.Tiers, cache.Cache[int, string]) {
		tiers, err := cache.Open(cache.TiersConfig{
			Remote:         redistier.New(rdb, redistier.Config{Prefix: "app"}),
			Log:            redislog.New(rdb, redislog.Config{Prefix: "app", Bound: patience}),
			InvalidateWait: patience / 4,
			Policies:       policy.Table{{Patch: policy.Patch{RemoteTimeout: new(patience / 4)}}}, // a busy machine must not count as a denial
			Logger:         slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tiers.Close(context.Background()) })
		cfg := cache.For("users", func(_ context.Context, k int) (string, error) {
			if k == 0 {
				return "", cache.ErrNotFound
			}
			return "x", nil
		})
		cfg.Policy = policy.Patch{Stale: new(policy.Forever)}
		c, err := cache.New(tiers, cfg)
		if err != nil {
			t.Fatal(err)
		}
		return tiers, c
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	a, users := open()
	b, others := open()
	if err := errors.Join(a.Ready(ctx), b.Ready(ctx)); err != nil {
		return err
	}
	var errs []error
	note := func(err error) {
		if !errors.Is(err, cache.ErrNotFound) {
			errs = append(errs, err)
		}
	}
	for range 2 {
		for _, c := range []cache.Cache[int, string]{users, others} {
			for k := range 3 {
				_, err := c.Get(ctx, k)
				note(err)
			}
			_, err := c.GetMany(ctx, []int{3, 4, 5})
			note(err)
			note(c.Set(ctx, 6, "y"))
			note(c.Refresh(ctx, 1))
			note(c.Delete(ctx, 1))
			note(c.DeleteMany(ctx, []int{2, 3}))
			note(c.Expire(ctx, 4))
			_, err = c.Get(ctx, 4)
			note(err)
			if err := errors.Join(errs...); err != nil {
				return err
			}
		}
		note(a.Invalidate(ctx, users.All(), users.Tag("t")))
	}
	for _, t := range []*cache.Tiers{a, b} {
		r := t.Stats().Remote
		if n := r.GetErrors + r.ClaimErrors + r.FillErrors + r.RemoveErrors; n > 0 {
			errs = append(errs, errors.New("calls to the remote tier failed"))
		}
		if l := t.Stats().Log; l.SyncErrors+l.TailErrors > 0 {
			errs = append(errs, errors.New("calls to the log failed"))
		}
	}
	return errors.Join(errs...)
}

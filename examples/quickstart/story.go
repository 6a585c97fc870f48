package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
)

// namespace is that of the cache in both processes.
const namespace = "packages:v1"

type packageCache = cache.Cache[string, Package]

// story is the state of a run: two sets of tiers, and the caches on them.
type story struct {
	ctx           context.Context
	index         *index
	big           string   // the package that the merged step is about
	rest          []string // the other packages
	fleet         *fleet
	first, second *cache.Tiers
	link          *logtest.Faulty // of the second to the log, which the story can cut
	a, b          packageCache    // the same cache in both
	swr           packageCache    // fresh for a moment, then stale for long
	safe          packageCache    // fresh for a moment, then kept for bad times
	report        report
}

// tell runs the story and prints it. It returns the first thing that did not
// happen as it should.
func tell(ctx context.Context, x *index, f *fleet, out io.Writer) error {
	s := &story{ctx: ctx, index: x, fleet: f, report: report{out: out, times: map[cache.Source][]time.Duration{}}}
	at := slices.Index(x.paths, "net/http") // it takes long to load
	if at < 0 {
		at = len(x.paths) - 1
	}
	s.big, s.rest = x.paths[at], slices.Delete(slices.Clone(x.paths), at, at+1)
	if err := s.open(); err != nil {
		return err
	}
	defer s.close()
	for _, step := range []struct {
		name string
		do   func() (string, error)
	}{
		{"cold", s.cold}, {"merged", s.merged}, {"warm", s.warm}, {"elsewhere", s.elsewhere},
		{"negative", s.negative}, {"stale", s.stale}, {"fail-safe", s.failSafe},
		{"invalidated", s.invalidated}, {"cut off", s.cutOff}, {"strict", s.strict},
	} {
		line, err := step.do()
		if err != nil {
			return fmt.Errorf("step %q did not happen: %w", step.name, err)
		}
		fmt.Fprintf(out, "%-12s %s\n", step.name, line)
	}
	s.report.latencies()
	s.report.counters(s.first.Stats(), s.second.Stats())
	return nil
}

// open opens both sets of tiers and their caches.
func (s *story) open() (err error) {
	// The story is the same on the slowest of machines: nothing here may end
	// before its time. A program that serves people keeps the defaults.
	cfg := cache.TiersConfig{
		Remote:   s.fleet.remote,
		Log:      s.fleet.log(),
		ClaimTTL: time.Minute,
		Policies: policy.Table{{Patch: policy.Patch{RemoteTimeout: new(10 * time.Second)}}},
	}
	if s.first, err = cache.Open(cfg); err != nil {
		return err
	}
	s.link = logtest.NewFaulty(s.fleet.log())
	cfg.Log = s.link
	cfg.Logger = slog.New(slog.DiscardHandler) // what it warns of is told by the steps that cut its link
	if s.second, err = cache.Open(cfg); err != nil {
		return err
	}
	long, brief := 10*time.Minute, 300*time.Millisecond
	for _, c := range []struct {
		to     *packageCache
		tiers  *cache.Tiers
		name   string
		policy policy.Patch
	}{
		{&s.a, s.first, namespace, policy.Patch{TTL: &long, NegativeTTL: &long}},
		{&s.b, s.second, namespace, policy.Patch{TTL: &long, NegativeTTL: &long}},
		{&s.swr, s.first, "stale:v1", policy.Patch{TTL: &brief, Stale: &long}},
		{&s.safe, s.first, "safe:v1", policy.Patch{TTL: &brief, StaleIfError: &long}},
	} {
		*c.to, err = cache.New(c.tiers, cache.Config[string, Package]{
			Namespace: c.name,
			Load:      s.index.load,
			Tags:      func(path string, _ Package) []string { return []string{tree(path)} },
			Policy:    c.policy,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *story) close() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 10*time.Second)
	defer cancel()
	_, _ = s.first.Close(ctx), s.second.Close(ctx)
}

// loads returns a function that tells how often the source has been asked since.
func (s *story) loads() func() int64 {
	before := s.index.loads.Load()
	return func() int64 { return s.index.loads.Load() - before }
}

// until asks until done: often at first, so that it can tell when, later every
// ten milliseconds. It gives up after a minute.
func (s *story) until(what string, done func() (bool, error)) error {
	for start := time.Now(); ; {
		if ok, err := done(); ok || err != nil {
			return err
		}
		waited := time.Since(start)
		if waited > time.Minute {
			return fmt.Errorf("a minute has gone by, and %s", what)
		}
		select {
		case <-time.After(min(max(waited/16, 50*time.Microsecond), 10*time.Millisecond)):
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

type story struct {
	*index
	ctx           context.Context
	bound         time.Duration
	big           string          // the package with the longest load
	first, second *cache.Tiers    // of the two processes
	link          *logtest.Faulty // from the second process to the log
	a, b          cache.Cache[string, Package]
}

// tell runs each step and prints the result. It returns the first failure.
func tell(ctx context.Context, x *index, f *fleet, out io.Writer) error {
	s := &story{index: x, ctx: ctx, bound: f.bound, link: logtest.NewFaulty(f.log()), big: x.paths[0]}
	if slices.Contains(x.paths, "runtime") {
		s.big = "runtime"
	}
	var err error
	if s.first, s.a, err = f.process(f.log(), x.load); err != nil {
		return err
	}
	defer s.first.Close(context.WithoutCancel(ctx)) //nolint:errcheck // every step is over
	if s.second, s.b, err = f.process(s.link, x.load); err != nil {
		return err
	}
	defer s.second.Close(context.WithoutCancel(ctx)) //nolint:errcheck // every step is over
	fmt.Fprintf(out, "Two processes share %s and a log with a bound of %v.\nThe source is %s.\n\n", f.name, f.bound, x.src)
	for _, step := range []struct {
		name, call string
		do         func() (string, error)
	}{
		{"first read", "packages.GetMany(ctx, paths)", s.all(s.first, s.a, cache.Load)},
		{"once more", "packages.GetMany(ctx, paths)", s.all(s.first, s.a, cache.Local)},
		{"elsewhere", "packages.GetMany(ctx, paths)", s.all(s.second, s.b, cache.Remote)},
		{"one load", "packages.Get(ctx, path)", s.merged},
		{"absence", `packages.Get(ctx, "no/such"), cache.ErrNotFound`, s.absence},
		{"stale", "tiers.Expire(ctx, packages.Key(path)), then packages.Get(ctx, path), policy.Stale", s.stale},
		{"fail-safe", "packages.Get(ctx, path), policy.StaleIfError", s.failSafe},
		{"by key", "packages.Delete(ctx, path)", s.invalidated(func(path string) error { return s.a.Delete(ctx, path) })},
		{"by prefix", "tiers.Invalidate(ctx, packages.Prefix(path))", s.invalidated(func(path string) error { return s.first.Invalidate(ctx, s.a.Prefix(path)) })},
		{"by tag", `tiers.Invalidate(ctx, packages.Tag("tree:…"))`, s.invalidated(func(path string) error { return s.first.Invalidate(ctx, s.a.Tag("tree:"+path)) })},
		{"cut off", "packages.Delete(ctx, path)", s.cutOff},
		{"strict", "packages.Delete(ctx, path, invalidate.Strict)", s.strict},
	} {
		line, err := step.do()
		if err != nil {
			return fmt.Errorf("step %q did not happen: %w", step.name, err)
		}
		fmt.Fprintf(out, "%-11s %s\n%11s %s\n", step.name, step.call, "", line)
	}
	n := s.first.Stats().Total
	fmt.Fprintf(out, "\ntiers.Stats() of the first process: %d local hits, %d remote hits, %d loads, %d merged.\n", n.LocalHits, n.RemoteHits, n.Loads, n.Merged)
	return nil
}

func (s *story) all(tiers *cache.Tiers, c cache.Cache[string, Package], src cache.Source) func() (string, error) {
	count := func() int64 {
		n := tiers.Stats().Total
		return map[cache.Source]int64{cache.Local: n.LocalHits, cache.Remote: n.RemoteHits, cache.Load: n.Loads}[src]
	}
	return func() (string, error) {
		before, loads, start := count(), s.loads.Load(), time.Now()
		got, err := c.GetMany(s.ctx, s.paths)
		took := time.Since(start)
		if n := count() - before; err == nil && (n != int64(len(s.paths)) || len(got) != len(s.paths)) {
			err = fmt.Errorf("%d of %d packages, %d from %v", len(got), len(s.paths), n, src)
		}
		return fmt.Sprintf("%d packages from %v in %v, with %d calls to the source", len(got), src, round(took), s.loads.Load()-loads), err
	}
}

func (s *story) merged() (string, error) {
	if err := s.a.Delete(s.ctx, s.big, invalidate.Strict); err != nil {
		return "", err
	}
	loads, errs, ready := s.loads.Load(), make([]error, 64), make(chan struct{})
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			<-ready
			_, errs[i] = [...]cache.Cache[string, Package]{s.a, s.b}[i%2].Get(s.ctx, s.big)
		})
	}
	close(ready)
	wg.Wait()
	if n := s.loads.Load() - loads; n != 1 {
		return "", errors.Join(errors.Join(errs...), fmt.Errorf("%d loads, want 1", n))
	}
	return fmt.Sprintf("%d goroutines of both processes ask for %s at once: 1 load", len(errs), s.big), errors.Join(errs...)
}

func (s *story) absence() (string, error) {
	loads, from := s.loads.Load(), [3]cache.Source{}
	for i, c := range []cache.Cache[string, Package]{s.a, s.a, s.b} {
		r, err := c.Fetch(s.ctx, "no/such", nil)
		if !errors.Is(err, cache.ErrNotFound) {
			return "", errors.Join(err, errors.New("no/such is not absent"))
		}
		from[i] = r.Source
	}
	if n := s.loads.Load() - loads; n != 1 {
		return "", fmt.Errorf("%d loads, want 1", n)
	}
	return fmt.Sprintf("no/such does not exist: three reads were answered from %v, %v and, in the other process, %v", from[0], from[1], from[2]), nil
}

// stale expires a package. The next reader gets the old one at once, and a refresh runs.
func (s *story) stale() (string, error) {
	path := s.paths[1]
	old, err := s.a.Get(s.ctx, path)
	if err != nil {
		return "", err
	}
	err = s.first.Expire(s.ctx, s.a.Key(path))
	r, failed := s.a.Fetch(s.ctx, path, nil)
	if err = errors.Join(err, failed); err == nil && (!r.Stale || r.Value.Load != old.Load) {
		err = fmt.Errorf("%s came from %v", path, r.Source)
	}
	if err != nil {
		return "", err
	}
	start := time.Now()
	err = s.until(func() (bool, error) {
		r, err := s.a.Fetch(s.ctx, path, nil)
		return r.Value.Load > old.Load, err
	})
	return fmt.Sprintf("%s expired: the old one was served at once, and a refresh replaced it after %v", path, round(time.Since(start))), err
}

func (s *story) failSafe() (string, error) {
	path := s.paths[1]
	s.broken.Store(true)
	defer s.broken.Store(false)
	if err := s.first.Expire(s.ctx, s.a.Key(path)); err != nil {
		return "", err
	}
	loads := s.loads.Load()
	err := s.until(func() (bool, error) {
		r, err := s.a.Fetch(s.ctx, path, nil)
		if err == nil && !r.Stale {
			err = errors.New("the value is fresh")
		}
		return s.loads.Load() > loads, err
	})
	return fmt.Sprintf("the source is broken: %s is served stale instead of the error", path), err
}

type spread struct {
	took   time.Duration // duration of the call
	old    time.Duration // from the return of the call to the last read that got the old value
	new    time.Duration // from the start of the call to the first read that got a new value
	source cache.Source  // of the first read that got a new value
}

// watch makes the call, then reads path in the second process until it is new, within promise.
func (s *story) watch(path string, promise time.Duration, call func() error) (got spread, err error) {
	for _, c := range []cache.Cache[string, Package]{s.a, s.b} { // so that both have a copy
		if _, err := c.Get(s.ctx, path); err != nil {
			return got, err
		}
	}
	before, start := s.loads.Load(), time.Now()
	if err := call(); err != nil {
		return got, err
	}
	got.took = time.Since(start)
	err = s.until(func() (bool, error) {
		began := time.Since(start)
		r, err := s.b.Fetch(s.ctx, path, nil)
		if err != nil || r.Value.Load > before {
			got.new, got.source = time.Since(start), r.Source
			return true, err
		}
		got.old = began - got.took
		if got.old >= promise+promise/1000 { // clocks may differ by a thousandth
			err = fmt.Errorf("the second process served the old %s %v after the call; want at most %v", path, got.old, promise)
		}
		return false, err
	})
	if err != nil {
		return got, err
	}
	r, err := s.a.Get(s.ctx, path)
	if err == nil && r.Load <= before {
		err = fmt.Errorf("the first process served the old %s", path)
	}
	return got, err
}

func (s *story) invalidated(call func(path string) error) func() (string, error) {
	return func() (string, error) {
		path := s.paths[0]
		got, err := s.watch(path, s.bound, func() error { return call(path) })
		return fmt.Sprintf("%s is gone here after %v, in the other process after %v (bound %v)", path, round(got.took), round(got.new), s.bound), err
	}
}

// deleted deletes a package while the link between the second process and the log is cut.
func (s *story) deleted(promise time.Duration, scopes ...invalidate.Scope) (spread, error) {
	path := s.paths[2]
	defer s.link.Heal()
	return s.watch(path, promise, func() error {
		s.link.Fail(errors.New("the link is cut"))
		return s.a.Delete(s.ctx, path, scopes...)
	})
}

func (s *story) cutOff() (string, error) {
	got, err := s.deleted(s.bound)
	return fmt.Sprintf("the second process is cut off from the log: it served its copy for %v more (bound %v), then it loaded", round(got.old), s.bound), err
}

// strict waits until no process can have an old copy.
func (s *story) strict() (string, error) {
	got, err := s.deleted(0, invalidate.Strict)
	return fmt.Sprintf("the second process is cut off again: the call took %v, and the very next read there was a %v", round(got.took), got.source), err
}

func (s *story) until(done func() (bool, error)) error {
	for start := time.Now(); time.Since(start) < time.Minute; {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-time.After(100 * time.Microsecond):
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
	return errors.New("nothing happened for a minute")
}

func round(d time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
}

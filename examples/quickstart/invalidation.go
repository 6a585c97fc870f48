package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
)

var errCut = errors.New("the link is cut")

// spread is how an invalidation in the first process reached the second. Reads
// count by when they began.
type spread struct {
	took  time.Duration // of the call
	until time.Duration // from its return to the last read that was served the old value
	after time.Duration // from its beginning to the first read that was served a new one
	next  read          // that read
}

// spread makes call, which invalidates path in the first process, and reads path
// in both until what they bring was loaded after that. That the second is served
// an older value later than promise after the call is an error.
func (s *story) spread(path string, promise time.Duration, call func() error) (got spread, err error) {
	for _, c := range []packageCache{s.a, s.b} { // so that both have a copy to lose
		if _, err := s.report.fetch(s.ctx, c, path); err != nil {
			return got, err
		}
	}
	before, start := s.index.loads.Load(), time.Now()
	if err := call(); err != nil {
		return got, err
	}
	got.took = time.Since(start)
	// The second first: the time that the first would take for a load is none of
	// the log's.
	if err := s.watch(&got, path, before, start, promise); err != nil {
		return got, err
	}
	r, err := s.report.fetch(s.ctx, s.a, path)
	if err == nil && r.Value.Parse <= before {
		err = fmt.Errorf("the first process was served the old %s", path)
	}
	return got, err
}

// watch reads path in the second process until what it brings is none of the
// loads before.
func (s *story) watch(got *spread, path string, before int64, start time.Time, promise time.Duration) error {
	return s.until("the second process has the old "+path, func() (bool, error) {
		began := time.Now()
		r, err := s.b.Fetch(s.ctx, path, nil)
		got.next, got.after = read{r, time.Since(began)}, began.Sub(start)
		if err != nil || r.Value.Parse > before {
			return true, err
		}
		got.until = got.after - got.took
		if got.until >= promise+promise/1000 { // clocks differ by less than a thousandth in how fast they go
			err = fmt.Errorf("the second process was served the old %s %v after the call, promised was %v", path, got.until, promise)
		}
		return false, err
	})
}

// invalidated invalidates a package by its key, by a prefix of its key and by
// its tag, and reads what that reaches and what not, in both processes.
func (s *story) invalidated() (string, error) {
	gone, kept := s.rest[0], s.rest[len(s.rest)-1]
	dir, _, _ := strings.Cut(gone, "/")
	if strings.HasPrefix(kept, dir) { // the first and the last of them in their order
		return "", fmt.Errorf("all packages begin with %s", dir)
	}
	prefix := invalidate.Prefix(cache.DefaultTenant, namespace+":"+dir)
	tag := invalidate.Tag(cache.DefaultTenant, tree(gone))
	var lines []string
	for _, by := range []struct {
		name string
		call func() error
	}{
		{"key " + gone, func() error { return s.a.Delete(s.ctx, gone) }},
		{prefix.String(), func() error { return s.first.Invalidate(s.ctx, prefix) }},
		{tag.String(), func() error { return s.first.Invalidate(s.ctx, tag) }},
	} {
		got, err := s.spread(gone, s.fleet.bound, by.call)
		if err != nil {
			return "", fmt.Errorf("by %s: %w", by.name, err)
		}
		lines = append(lines, fmt.Sprintf("%s: gone here in %v, seen by the other process after %v (bound %v)",
			by.name, round(got.took), round(got.after), s.fleet.bound))
	}
	_, err1 := s.report.want(s.ctx, s.a, kept, cache.Local, false)
	_, err2 := s.report.want(s.ctx, s.b, kept, cache.Local, false)
	lines = append(lines, kept+" begins otherwise: both processes keep their copies")
	return strings.Join(lines, "\n"+strings.Repeat(" ", 13)), errors.Join(err1, err2)
}

// cutOff invalidates a package while nobody can tell the second process.
func (s *story) cutOff() (string, error) {
	path := s.rest[len(s.rest)-1]
	got, err := s.spread(path, s.fleet.bound, func() error {
		s.link.Fail(errCut)
		return s.first.Invalidate(s.ctx, invalidate.Tag(cache.DefaultTenant, tree(path)))
	})
	if err != nil {
		return "", err
	}
	back, err := s.mend()
	return fmt.Sprintf("the other process's link to the log is cut: it served the old %s for %v more, until its lease\n"+
		"%13sended (bound %v), then asked the source itself (%v); %v after the link was mended it follows again",
		path, round(got.until), "", s.fleet.bound, got.next, round(back)), err
}

// strict does the same with a call that waits until the second process cannot
// have a lease from before.
func (s *story) strict() (string, error) {
	path := s.rest[len(s.rest)-1]
	got, err := s.spread(path, 0, func() error {
		s.link.Fail(errCut)
		return s.a.Delete(s.ctx, path, invalidate.Strict)
	})
	if err != nil {
		return "", err
	}
	_, err = s.mend()
	return fmt.Sprintf("cut off again: the call took %v, until no lease from before was left (bound %v);\n"+
		"%13snobody told the other process, and its very next read is new (%v)", round(got.took), s.fleet.bound, "", got.next), err
}

// mend ends the cut and tells how long it took the second process to catch up.
func (s *story) mend() (time.Duration, error) {
	start := time.Now()
	s.link.Heal()
	err := s.until("the second process has no lease", func() (bool, error) {
		return s.second.Stats().Log.LeaseAge < s.fleet.bound, nil
	})
	return time.Since(start), err
}

package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twofold-go/twofold/cache"
)

func (s *story) cold() (string, error) {
	lines, names := 0, 0
	line, err := s.all(s.a, cache.Load, func(p Package) { lines, names = lines+p.Lines, names+len(p.Exported) })
	return fmt.Sprintf("%s: %d lines parsed, %d exported names", line, lines, names), err
}

func (s *story) warm() (string, error) { return s.all(s.a, cache.Local, nil) }

func (s *story) elsewhere() (string, error) {
	line, err := s.all(s.b, cache.Remote, nil)
	return line + ": the second process parsed none of them", err
}

// all reads every package but the big one, each of which must come from src.
func (s *story) all(c packageCache, src cache.Source, see func(Package)) (string, error) {
	loads, start := s.loads(), time.Now()
	for _, path := range s.rest {
		r, err := s.report.want(s.ctx, c, path, src, false)
		if err != nil {
			return "", err
		}
		if see != nil {
			see(r.Value)
		}
	}
	took, n := time.Since(start), len(s.rest)
	if got := loads(); src == cache.Load && got != int64(n) || src != cache.Load && got != 0 {
		return "", fmt.Errorf("%d reads caused %d loads", n, got)
	}
	return fmt.Sprintf("%d packages from %v in %v, %v each", n, src, round(took), round(took/time.Duration(n))), nil
}

// merged lets many goroutines of both processes ask for one package at once.
func (s *story) merged() (string, error) {
	const readers = 64
	errs := make([]error, readers)
	ready := make(chan struct{})
	var wg sync.WaitGroup
	for i := range readers {
		wg.Go(func() {
			<-ready
			_, errs[i] = [...]packageCache{s.a, s.b}[i%2].Get(s.ctx, s.big)
		})
	}
	loads, start := s.loads(), time.Now()
	close(ready)
	wg.Wait()
	took := time.Since(start)
	if err := errors.Join(errs...); err != nil {
		return "", err
	} else if n := loads(); n != 1 {
		return "", fmt.Errorf("%d readers caused %d loads, want 1", readers, n)
	}
	return fmt.Sprintf("%d goroutines of both processes want %s at once: 1 load, all served in %v", readers, s.big, round(took)), nil
}

func (s *story) negative() (string, error) {
	const path = "no/such/package"
	var got [3]read
	loads := s.loads()
	for i, by := range []struct {
		cache  packageCache
		source cache.Source
	}{{s.a, cache.Load}, {s.a, cache.Local}, {s.b, cache.Remote}} {
		var err error
		if got[i], err = s.report.want(s.ctx, by.cache, path, by.source, true); err != nil {
			return "", err
		}
	}
	if n := loads(); n != 1 {
		return "", fmt.Errorf("%d loads of a package that is not there, want 1", n)
	}
	return fmt.Sprintf("%s is not there: found out by %v, remembered by %v, in the second process by %v", path, got[0], got[1], got[2]), nil
}

// stale reads a package past its time: the old value at once, a new one soon.
func (s *story) stale() (string, error) {
	path, loads := s.rest[0], s.loads()
	old, start, err := s.becomesStale(s.swr, path)
	if err != nil {
		return "", err
	}
	err = s.until("the refresh has brought nothing", func() (bool, error) {
		r, err := s.report.fetch(s.ctx, s.swr, path)
		return r.Value.Parse > old.Value.Parse, err
	})
	if n := loads(); err == nil && n < 2 {
		err = fmt.Errorf("%d loads, want the first one and a refresh", n)
	}
	return fmt.Sprintf("%s, %v old, from %v: nobody waited; %v later a refresh had replaced it", path, round(old.Age), old, round(time.Since(start))), err
}

// failSafe reads a package whose source has broken meanwhile.
func (s *story) failSafe() (string, error) {
	path := s.rest[0]
	if _, err := s.safe.Get(s.ctx, path); err != nil {
		return "", err
	}
	s.index.broken.Store(true)
	defer s.index.broken.Store(false)
	loads := s.loads()
	old, _, err := s.becomesStale(s.safe, path)
	if err == nil && loads() == 0 {
		err = errors.New("the source was not asked")
	}
	return fmt.Sprintf("the source has broken: %s, %v old, from %v in place of the error", path, round(old.Age), old), err
}

// becomesStale reads until the answer is a stale one, from this process, and
// tells when that read began.
func (s *story) becomesStale(c packageCache, path string) (r read, start time.Time, err error) {
	err = s.until(path+" is still fresh", func() (bool, error) {
		start = time.Now()
		r, err = s.report.fetch(s.ctx, c, path)
		return r.Stale, err
	})
	if err == nil && r.Source != cache.Local {
		err = fmt.Errorf("the stale value of %s came from %v, want local", path, r.Source)
	}
	return r, start, err
}

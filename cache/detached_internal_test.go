package cache

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type valueKey struct{}

// lateness notes how the context that it watches has ended.
type lateness chan error

func (l lateness) late(ctx context.Context) { l <- ctx.Err() }

// A detached context behaves as one of package context does, whichever way it ends.
func TestDetachedEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(flight *detached, outer context.CancelFunc)
		want error
	}{
		"cancel":   {func(flight *detached, _ context.CancelFunc) { flight.Cancel() }, context.Canceled},
		"outer":    {func(_ *detached, outer context.CancelFunc) { outer() }, context.Canceled},
		"deadline": {func(*detached, context.CancelFunc) { <-time.After(time.Minute) }, context.DeadlineExceeded},
	} {
		for _, foreign := range []bool{false, true} {
			if foreign != (name == "outer") && name != "deadline" {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				outer, cancelOuter := context.WithCancel(context.Background())
				defer cancelOuter()
				flight := &detached{values: context.Background()}
				var c detached
				if foreign {
					c.begin(outer, time.Minute)
				} else {
					c.begin(flight, time.Minute)
				}
				hook, ran := make(lateness, 1), make(chan struct{}, 2)
				c.watch(hook)
				early := c.Done()
				derived, cancelDerived := context.WithTimeout(&c, time.Hour)
				defer cancelDerived()
				c.AfterFunc(func() { ran <- struct{}{} })
				stopped := c.AfterFunc(func() { t.Error("a function that was stopped has run") })
				if d, ok := c.Deadline(); !ok || time.Until(d) != time.Minute || !stopped() || stopped() {
					t.Errorf("%s: the deadline is in %v, or stop does not tell", name, time.Until(d))
				}
				if c.Err() != nil || derived.Err() != nil {
					t.Errorf("%s: it has ended before its end", name)
				}
				tt.end(flight, cancelOuter)
				<-early
				<-c.Done()
				<-derived.Done()
				<-ran
				c.AfterFunc(func() { ran <- struct{}{} })
				<-ran
				if err := <-hook; !errors.Is(err, tt.want) || !errors.Is(c.Err(), tt.want) || !errors.Is(derived.Err(), tt.want) {
					t.Errorf("%s: ended with %v and %v, its child with %v", name, err, c.Err(), derived.Err())
				}
				c.close()
			})
		}
	}
}

// Once a load has returned, its context is over, its hook does not run, and its
// flight goes on.
func TestDetachedCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flight := &detached{values: context.Background()}
		for range 2 {
			var c detached
			c.begin(flight, time.Minute)
			hook := make(lateness, 1)
			c.watch(hook)
			c.close()
			flightErr := flight.Err()
			synctest.Wait()
			if len(hook) > 0 || c.Err() == nil || flightErr != nil || flight.inner != nil {
				t.Errorf("the hook has run: %d; %v; the flight: %v", len(hook), c.Err(), flightErr)
			}
		}
		flight.Cancel()
		var late detached
		late.begin(flight, time.Minute)
		hook := make(lateness, 1)
		late.watch(hook)
		if err := <-hook; !errors.Is(err, context.Canceled) {
			t.Errorf("a load of a flight that has ended goes on: %v", err)
		}
		late.close()
	})
}

// The caller's values are there, and neither its end nor the reason for that.
func TestDetachedValues(t *testing.T) {
	caller, cancel := context.WithCancelCause(context.WithValue(context.Background(), valueKey{}, "v"))
	flight := &detached{values: context.WithoutCancel(caller)}
	c := detached{fill: &Fill{}}
	c.begin(flight, time.Hour)
	defer c.close()
	cancel(errSome)
	if c.Value(valueKey{}) != "v" || Filling(&c) != c.fill || Filling(flight) != nil || c.Err() != nil {
		t.Error("the values are not those of the caller, with the load's own in front")
	}
	if err := context.Cause(&c); err != nil {
		t.Errorf("the cause of no end is %v", err)
	}
	derived, stop := context.WithCancel(&c)
	defer stop()
	c.Cancel()
	<-derived.Done()
	if err := context.Cause(derived); !errors.Is(err, context.Canceled) || !errors.Is(context.Cause(&c), context.Canceled) {
		t.Errorf("the cause is %v, and %v", err, context.Cause(&c))
	}
	if new(detached).Value(valueKey{}) != nil {
		t.Error("the zero context has values")
	}
}

var errSome = errors.New("some error")

// Contexts derived from it cost no goroutine.
func TestDetachedStartsNoGoroutine(t *testing.T) {
	var c detached
	before := runtime.NumGoroutine()
	for range 100 {
		_, cancel := context.WithCancel(&c)
		defer cancel()
	}
	if after := runtime.NumGoroutine(); after > before+10 {
		t.Errorf("%d goroutines, %d before", after, before)
	}
}

// Everything at a time: nothing is for the race detector to find, and nobody waits
// for ever.
func TestDetachedConcurrently(t *testing.T) {
	for range 200 {
		flight := &detached{values: context.Background()}
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 3 { // one after the other, as loads of a flight are
				var c detached
				c.begin(flight, time.Hour)
				c.watch(make(lateness, 1))
				derived, cancel := context.WithCancel(&c)
				wg.Go(func() { c.AfterFunc(func() {})() })
				<-derived.Done()
				cancel()
				c.close()
			}
		})
		wg.Go(flight.Cancel)
		wg.Go(flight.Cancel)
		wg.Wait()
	}
}

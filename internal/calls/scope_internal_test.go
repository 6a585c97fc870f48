package calls

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type (
	valueKey struct{}
	ownKey   struct{}
)

func detach(ctx context.Context) *Scope {
	c := new(Scope)
	c.Detach(ctx)
	return c
}

// lateness records how the context that it watches has ended.
type lateness chan error

func (l lateness) Late(ctx context.Context) { l <- ctx.Err() }

// A scope behaves like a context of package context, however it ends.
func TestScopeEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(flight *Scope, outer context.CancelFunc)
		want error
	}{
		"cancel":   {func(flight *Scope, _ context.CancelFunc) { flight.Cancel() }, context.Canceled},
		"outer":    {func(_ *Scope, outer context.CancelFunc) { outer() }, context.Canceled},
		"deadline": {func(*Scope, context.CancelFunc) { <-time.After(time.Minute) }, context.DeadlineExceeded},
	} {
		for _, foreign := range []bool{false, true} {
			if foreign != (name == "outer") && name != "deadline" {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				outer, cancelOuter := context.WithCancel(context.Background())
				defer cancelOuter()
				flight := detach(context.Background())
				var c Scope
				if foreign {
					c.Begin(outer, time.Now(), time.Minute)
				} else {
					c.Begin(flight, time.Now(), time.Minute)
				}
				hook, ran := make(lateness, 1), make(chan struct{}, 2)
				c.Watch(hook)
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
				c.Close()
			})
		}
	}
}

// Once a load has returned, its context has ended, its hook does not run, and its flight continues.
func TestScopeCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flight := detach(context.Background())
		for range 2 {
			var c Scope
			c.Begin(flight, time.Now(), time.Minute)
			hook := make(lateness, 1)
			c.Watch(hook)
			c.Close()
			flightErr := flight.Err()
			synctest.Wait()
			if len(hook) > 0 || c.Err() == nil || flightErr != nil || flight.inner != nil {
				t.Errorf("the hook has run: %d; %v; the flight: %v", len(hook), c.Err(), flightErr)
			}
		}
		flight.Cancel()
		var late Scope
		late.Begin(flight, time.Now(), time.Minute)
		hook := make(lateness, 1)
		late.Watch(hook)
		if err := <-hook; !errors.Is(err, context.Canceled) {
			t.Errorf("a load of an ended flight continues: %v", err)
		}
		late.Close()
	})
}

// The caller's values are visible, but neither its end nor the cause.
func TestScopeValues(t *testing.T) {
	caller, cancel := context.WithCancelCause(context.WithValue(context.Background(), valueKey{}, "v"))
	flight := detach(caller)
	var c Scope
	c.Carry(ownKey{}, "own")
	c.Begin(flight, time.Now(), time.Hour)
	defer c.Close()
	cancel(errSome)
	if c.Value(valueKey{}) != "v" || c.Value(ownKey{}) != "own" || flight.Value(ownKey{}) != nil || c.Err() != nil {
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
	if new(Scope).Value(valueKey{}) != nil {
		t.Error("the zero context has values")
	}
}

var errSome = errors.New("some error")

// Contexts derived from a scope need no goroutine.
func TestScopeStartsNoGoroutine(t *testing.T) {
	var c Scope
	before := runtime.NumGoroutine()
	for range 100 {
		_, cancel := context.WithCancel(&c)
		defer cancel()
	}
	if after := runtime.NumGoroutine(); after > before+10 {
		t.Errorf("%d goroutines, %d before", after, before)
	}
}

// Everything concurrently: the race detector finds nothing, and no goroutine waits forever.
func TestScopeConcurrently(t *testing.T) {
	for range 200 {
		flight := detach(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 3 { // one after another, like the loads of a flight
				var c Scope
				c.Begin(flight, time.Now(), time.Hour)
				c.Watch(make(lateness, 1))
				derived, cancel := context.WithCancel(&c)
				wg.Go(func() { c.AfterFunc(func() {})() })
				<-derived.Done()
				cancel()
				c.Close()
			}
		})
		wg.Go(flight.Cancel)
		wg.Go(flight.Cancel)
		wg.Wait()
	}
}

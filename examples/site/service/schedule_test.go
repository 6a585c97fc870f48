package service_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/examples/site/service"
)

// due publishes one post at each call, but fails at the second.
type due struct {
	looks []time.Time
}

func (d *due) PublishDue(context.Context) (int, error) {
	d.looks = append(d.looks, time.Now())
	if len(d.looks) == 2 {
		return 0, errors.New("the disk is full")
	}
	return 1, nil
}

func TestScheduleLooksAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		start, d := time.Now(), &due{}
		service.Schedule(ctx, 10*time.Second, slog.New(slog.NewTextHandler(&log, nil)), d.PublishDue)
		if took := time.Since(start); took != 25*time.Second {
			t.Errorf("Schedule ended after %v, want 25s", took)
		}
		if len(d.looks) != 3 {
			t.Fatalf("%d looks, want 3", len(d.looks))
		}
		for i, at := range d.looks {
			if got, want := at.Sub(start), time.Duration(i)*10*time.Second; got != want {
				t.Errorf("look %d after %v, want %v", i+1, got, want)
			}
		}
		if got := log.String(); strings.Count(got, "posts=1") != 2 || !strings.Contains(got, "the disk is full") {
			t.Errorf("the log is\n%s", got)
		}
	})
}

func TestScheduleEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			service.Schedule(ctx, time.Second, slog.New(slog.DiscardHandler), (&due{}).PublishDue)
		}()
		synctest.Wait()
		start := time.Now()
		cancel()
		<-done
		if took := time.Since(start); took != 0 {
			t.Errorf("Schedule ended %v after its context", took)
		}
	})
}

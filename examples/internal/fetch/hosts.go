package fetch

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// hosts keeps the client polite: at most so many requests to one host at a time,
// and a pause between the starts of two. Hosts know nothing of each other.
//
// A request first takes one of its host's slots, then the host's door, of which
// there is one. It waits in the door until the pause since the last start is over,
// notes its own start and leaves the door open for the next. Both are semaphores
// that serve in the order of arrival. So whoever gives up while waiting leaves
// nothing behind: the start that did not take place delays nobody, which a
// reservation made in advance would.
type hosts struct {
	per int64

	mu    sync.Mutex // protects the rest; held for a look-up, never while waiting
	known map[string]*host
	swept time.Time
}

type host struct {
	slots *semaphore.Weighted
	door  *semaphore.Weighted
	last  time.Time // the last start; belongs to whoever is in the door

	users   int       // in any of this; protected by hosts.mu
	quietAt time.Time // may be forgotten from then on, without users; likewise
}

// sweepEvery is how often hosts that are of no more interest are forgotten: with
// that, memory is bounded by the hosts of a minute, or of their pauses.
const sweepEvery = time.Minute

func newHosts(per int) *hosts {
	return &hosts{per: int64(per), known: make(map[string]*host)}
}

// enter waits until a request to the host may start, at least delay after the one
// before it. leave ends the request. An error is ctx's.
func (hs *hosts) enter(ctx context.Context, name string, delay time.Duration) (leave func(), err error) {
	h := hs.hold(name)
	if err := h.slots.Acquire(ctx, 1); err != nil {
		hs.drop(h, delay)
		return nil, err
	}
	leave = func() {
		h.slots.Release(1)
		hs.drop(h, delay)
	}
	if err := h.pass(ctx, delay); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// pass goes through the door.
func (h *host) pass(ctx context.Context, delay time.Duration) error {
	if err := h.door.Acquire(ctx, 1); err != nil {
		return err
	}
	defer h.door.Release(1)
	if pause := time.Until(h.last.Add(delay)); !h.last.IsZero() && pause > 0 {
		t := time.NewTimer(pause)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	h.last = time.Now()
	return nil
}

// hold returns the host, which is not forgotten until drop.
func (hs *hosts) hold(name string) *host {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if now := time.Now(); now.Sub(hs.swept) >= sweepEvery {
		hs.swept = now
		for name, h := range hs.known {
			if h.users == 0 && !now.Before(h.quietAt) {
				delete(hs.known, name)
			}
		}
	}
	h := hs.known[name]
	if h == nil {
		h = &host{slots: semaphore.NewWeighted(hs.per), door: semaphore.NewWeighted(1)}
		hs.known[name] = h
	}
	h.users++
	return h
}

// drop ends a hold. The host's last start is not older than now, so its pause is
// over after delay.
func (hs *hosts) drop(h *host, delay time.Duration) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h.users--
	if at := time.Now().Add(delay); at.After(h.quietAt) {
		h.quietAt = at
	}
}
